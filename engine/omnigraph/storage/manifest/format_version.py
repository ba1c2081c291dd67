"""The on-disk format of `__manifest`: one constant, one stamp, one dispatcher.

No other module looks at the stamp. Reading never migrates; opening for write walks the steps
forward. Each step may be run again after a crash in its middle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from lance import LanceDataset, LanceOperation

from omnigraph.errors import Corruption, FormatTooNew, StorageError

INTERNAL_SCHEMA_VERSION = 3
STAMP = "omnigraph:internal_schema_version"
KEY_ANNOTATION = "lance-schema:unenforced-primary-key"


def stamped(table: pa.Table) -> pa.Table:
    """A table with the stamp of the current format, for creating a manifest."""
    return table.replace_schema_metadata({STAMP: str(INTERNAL_SCHEMA_VERSION)})


def read_stamp(dataset: LanceDataset) -> int:
    """The format version on disk; manifests older than the stamp are version 1."""
    metadata = dataset.schema.metadata or {}
    stamp = metadata.get(STAMP.encode(), b"1")
    if not stamp.isdigit() or int(stamp) < 1:
        raise Corruption(
            f"the manifest's format stamp is {stamp.decode(errors='replace')!r}",
            hint="Restore the manifest from a backup.",
        )
    return int(stamp)


def require_readable(dataset: LanceDataset) -> None:
    """Refuse a format from the future."""
    stamp = read_stamp(dataset)
    if stamp > INTERNAL_SCHEMA_VERSION:
        raise FormatTooNew(
            f"the graph has internal format {stamp}, this omnigraph knows up to "
            f"{INTERNAL_SCHEMA_VERSION}",
            hint="Upgrade omnigraph first.",
            details={"stamp": stamp, "known": INTERNAL_SCHEMA_VERSION},
        )


def require_heads(dataset: LanceDataset) -> None:
    """Say what to do about a format that has no branches yet; reading never migrates."""
    stamp = read_stamp(dataset)
    if stamp < INTERNAL_SCHEMA_VERSION:
        raise StorageError(
            f"the graph has internal format {stamp} and cannot be read before it is upgraded",
            hint="The first write upgrades it; an empty load is enough.",
            details={"stamp": stamp, "known": INTERNAL_SCHEMA_VERSION},
        )


CommitUpgrade = Callable[[LanceDataset, Any], None]
"""Commits a Lance operation or transaction on a dataset, and is back when it is durable."""
MigrationStep = Callable[[LanceDataset, CommitUpgrade], None]


def _annotate_key(dataset: LanceDataset, commit: CommitUpgrade) -> None:
    """1 → 2: the key annotation, without which two writers can land the same row."""
    [key] = [field.id() for field in dataset.lance_schema.fields() if field.name() == "object_id"]
    annotated = LanceOperation.UpdateMap({KEY_ANNOTATION: "true"})
    commit(dataset, LanceOperation.UpdateConfig(field_metadata_updates={key: annotated}))


def migrate(dataset: LanceDataset, build_heads: MigrationStep, commit: CommitUpgrade) -> bool:
    """Walk the manifest forward to the current format; true when anything was changed.

    `build_heads` is the step 2 → 3, which needs to know how a snapshot is reconstructed: it adds
    commit and head rows to a manifest that has only table versions.
    """
    require_readable(dataset)
    steps: dict[int, MigrationStep] = {1: _annotate_key, 2: build_heads}
    moved = False
    while (stamp := read_stamp(dataset)) < INTERNAL_SCHEMA_VERSION:
        steps[stamp](dataset, commit)
        dataset.checkout_latest()
        next_stamp = LanceOperation.UpdateMap({STAMP: str(stamp + 1)})
        commit(dataset, LanceOperation.UpdateConfig(schema_metadata_updates=next_stamp))
        dataset.checkout_latest()
        moved = True
    return moved
