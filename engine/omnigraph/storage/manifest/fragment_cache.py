"""What this process has seen of the manifest's fragments, and which of them hold named rows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment
from lance.fragment import FragmentMetadata

from omnigraph.common.arrow_memory import held_bytes, in_one_chunk
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.errors import Corruption, StorageError
from omnigraph.storage.core.compaction_policy import tier
from omnigraph.storage.core.layout import MANIFEST
from omnigraph.storage.core.read_errors import is_panic
from omnigraph.storage.manifest.row_codec import MANIFEST_SCHEMA, ManifestRow
from omnigraph.storage.tables.deletion_vectors import rows_key
from omnigraph.storage.tables.digest_names import damaged_file

HISTORY_TYPES = ("graph_commit", "table_version", "table_tombstone")
SMALL_ROWS_CACHE_BYTES = 16 << 20
NAMED_FILES = "omnigraph:named_files"
NAMED = "omnigraph:named"
"""Where a change notes which data files hold named rows, so that opening reads no others."""

FragmentKey = tuple[str, str]
"""A fragment's data file and its deletion file: together they fix its live rows."""
NamedRows = Mapping[FragmentKey, tuple[tuple[str, ManifestRow, int], ...]]
"""Per fragment: its named rows as (object id, row, offset)."""


class SeenFragments:
    """The rows of small fragments that were read or written here."""

    def __init__(self) -> None:
        self._rows: BoundedCache[FragmentKey, pa.Table] = BoundedCache(SMALL_ROWS_CACHE_BYTES)

    def written(self, written: FragmentMetadata, rows: pa.Table) -> NamedRows:
        """Keep what was just written, so that nobody has to read it back; its named rows."""
        key = rows_key(written)
        numbered = rows.append_column("offset", pa.array(range(rows.num_rows), pa.int64()))
        self._keep(key, numbered)
        named = tuple(
            (row["object_id"], row, offset)
            for offset, row in enumerate(rows.to_pylist())
            if row["object_type"] not in HISTORY_TYPES
        )
        return {key: named}

    def shrunk(
        self,
        known: NamedRows,
        before: LanceFragment,
        after: FragmentMetadata,
        deleted: Iterable[int],
    ) -> NamedRows:
        """The same for a fragment that lost rows."""
        lost = _lost(after.id, deleted)
        key = rows_key(after)
        rows = self._rows.get(fragment_key(before))
        if rows is not None:
            self._keep(key, _without(rows, lost))
        return {key: tuple(e for e in known[fragment_key(before)] if e[2] not in lost)}

    def live_rows(
        self, dataset: LanceDataset, fragments: Sequence[LanceFragment], deleted: Sequence[int]
    ) -> list[pa.Table]:
        """Live rows of fragments about to be compacted, without those that are deleted.

        If one of them was not seen yet, all that were not are read: later compactions read nothing.
        """
        if any(self._rows.get(fragment_key(fragment)) is None for fragment in fragments):
            for fragment in dataset.get_fragments():
                if tier(fragment.physical_rows) is not None:
                    self._see(dataset, fragment)
        return [
            _without(self._see(dataset, fragment), _lost(fragment.fragment_id, deleted))
            .select(MANIFEST_SCHEMA.names)
            .cast(MANIFEST_SCHEMA)
            for fragment in fragments
        ]

    def _see(self, dataset: LanceDataset, fragment: LanceFragment) -> pa.Table:
        rows = self._rows.get(fragment_key(fragment))
        if rows is None:
            rows = read_rows(dataset, None, [fragment])
            offsets = pc.bit_wise_and(rows.column("_rowaddr"), 0xFFFFFFFF).cast(pa.int64())
            rows = self._keep(fragment_key(fragment), rows.append_column("offset", offsets))
        return rows

    def _keep(self, key: FragmentKey, rows: pa.Table) -> pa.Table:
        kept = in_one_chunk(rows)
        self._rows.put(key, kept, held_bytes(kept))
        return kept


class SeenParents:
    """The parents of the commits that this process has seen.

    Commits stay and never change: only data files that were not seen yet are read. The lock
    protects what is remembered; who finds the same at once just writes it twice.
    """

    COLUMNS = ("object_id", "base_objects")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: set[str] = set()
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, dataset: LanceDataset) -> Mapping[str, tuple[str, ...]]:
        """The parents of at least the commits that a version of the manifest has."""
        files = {f.metadata.files[0].path: f for f in dataset.get_fragments()}
        unseen = [path for path in files if path not in self._files]
        if unseen:
            fragments = [files[path] for path in unseen]
            rows = read_rows(dataset, "object_type = 'graph_commit'", fragments, self.COLUMNS)
            parents = {
                row["object_id"].removeprefix("commit:"): tuple(
                    parent.removeprefix("commit:") for parent in row["base_objects"] or ()
                )
                for row in rows.select(list(self.COLUMNS)).to_pylist()
            }
            with self._lock:
                self._known = {**self._known, **parents}
                self._files = set(files)
        return self._known


def _lost(fragment_id: int, deleted: Iterable[int]) -> list[int]:
    return [address & 0xFFFFFFFF for address in deleted if address >> 32 == fragment_id]


def _without(rows: pa.Table, offsets: Sequence[int]) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows.column("offset"), pa.array(offsets, pa.int64()))))


def named_files_property(files: Sequence[str]) -> dict[str, str]:
    """The note of a change after which these data files, and no others, hold named rows."""
    return {NAMED: ",".join(map(short_name, files))}


def short_name(path: str) -> str:
    """The end of the name of a data file, which is random: enough to tell it from the others."""
    return path.removesuffix(".lance")[-16:]


def named_files(dataset: LanceDataset) -> set[str] | None:
    """Short names of data files that hold named rows, if this version was made by a change that
    says so."""
    try:
        made_by = dataset.read_transaction(dataset.version)
    except (OSError, ValueError):
        return None
    properties = made_by.transaction_properties if made_by else {}
    if NAMED in properties:
        return set(properties[NAMED].split(","))
    listed = properties.get(NAMED_FILES)  # of a version from before names were short
    return set(map(short_name, json.loads(listed))) if listed else None


def read_rows(
    dataset: LanceDataset,
    condition: str | None,
    fragments: list[LanceFragment] | None,
    columns: Sequence[str] = tuple(MANIFEST_SCHEMA.names),
) -> pa.Table:
    """Rows of the manifest with their addresses; failures are typed."""
    try:
        return dataset.scanner(
            filter=condition,
            fragments=fragments,
            with_row_address=True,
            columns=list(columns),
        ).to_table()
    except FileNotFoundError as error:
        raise Corruption(f"a file of the manifest is missing: {error}") from error
    except BaseException as error:
        if not (is_panic(error) or isinstance(error, OSError | ValueError)):
            raise
        path = damaged_file(dataset)
        if path is None:
            raise StorageError(f"cannot read the manifest: {error}") from error
        raise Corruption(
            f"the file {MANIFEST}/{path} is damaged: {error}",
            hint="Restore it from a backup.",
            details={"file": f"{MANIFEST}/{path}"},
        ) from error


def fragment_key(fragment: LanceFragment) -> FragmentKey:
    """What fixes the live rows of a fragment."""
    return rows_key(fragment.metadata)
