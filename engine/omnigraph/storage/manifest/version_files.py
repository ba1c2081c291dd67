"""The files of one version of the manifest, for those that copy or replace them."""

from __future__ import annotations

from collections.abc import Mapping

import lance
from lance import LanceDataset

from omnigraph.storage.core.layout import MANIFEST, version_file
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.read_damage import parsed, unreadable


def version_path(number: int) -> str:
    """The file of a version, relative to the root."""
    return f"{MANIFEST}/{version_file(number)}"


def files_of_view(view: ManifestView) -> set[str]:
    """What the version of a view refers to, relative to the root; not its own file."""
    return _referenced(view.dataset)


def files_of_newest(root: str, options: Mapping[str, str]) -> set[str]:
    """The same of the newest version, of which nothing but its own file is read.

    Raises `Corruption` when that file cannot be read.
    """
    uri = f"{root}/{MANIFEST}"
    try:
        with parsed(uri):
            return _referenced(lance.dataset(uri, storage_options=dict(options)))
    except (OSError, ValueError) as error:
        raise unreadable(uri, error) from error


def _referenced(dataset: LanceDataset) -> set[str]:
    names = set()
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        names |= {f"data/{file.path}" for file in metadata.files}
        if metadata.deletion_file is not None:
            names.add(metadata.deletion_file.path(fragment.fragment_id))
    return {f"{MANIFEST}/{name}" for name in names}
