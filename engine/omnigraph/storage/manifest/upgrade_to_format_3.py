"""The migration step 2 → 3: commits and heads for a manifest that has only table versions.

Format 2 knew tables and their versions; a snapshot had to be put together from rows. Format 3 keeps
each branch's whole pointer map in its head, so this step puts every snapshot together once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from lance import LanceDataset

from omnigraph.errors import StorageError
from omnigraph.schema import Catalog, compile_schema
from omnigraph.storage.core.model import MAIN, SchemaRecord, schema_record
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.manifest.commit_outcome import ManifestConflict
from omnigraph.storage.manifest.first_commit import first_commit
from omnigraph.storage.manifest.format_version import CommitUpgrade
from omnigraph.storage.manifest.rebuild_head import reconstruct
from omnigraph.storage.manifest.row_codec import (
    MANIFEST_SCHEMA,
    ManifestRow,
    allocator_row,
    commit_row,
    head_id,
    head_row,
    parse_schema,
    rows_table,
    schema_row,
)

SCHEMA_FILE = "_schema.pg"


def build_heads(root: str, raw: RawStore, dataset: LanceDataset, commit: CommitUpgrade) -> None:
    """Add what format 3 needs; rows that are there already are left alone."""
    table = dataset.to_table(columns=MANIFEST_SCHEMA.names)
    rows = {row["object_id"]: row for row in table.to_pylist()}
    record = _accepted_schema(root, raw, rows)
    catalog = Catalog.from_json(dict(record.compiled))
    missing: list[ManifestRow] = [schema_row(record), allocator_row(catalog.next_identity)]
    branches = {row["table_branch"] or MAIN for row in rows.values()}
    for branch in sorted(branches | {MAIN}):
        if head_id(branch) in rows:
            continue
        pointers = {
            key: replace(pointer, identity=catalog.type_for(key).identity)
            for key, pointer in reconstruct(rows.values(), branch).items()
        }
        first, head = first_commit(
            branch, record.hash, pointers, message="upgrade from internal format 2"
        )
        missing += [commit_row(first), head_row(head)]
    fresh = [row for row in missing if row["object_id"] not in rows]
    if fresh:
        _insert_once(dataset, fresh, commit)


def _insert_once(dataset: LanceDataset, rows: list[ManifestRow], commit: CommitUpgrade) -> None:
    """Add rows that nobody has added yet. Format 2 has the key annotation: of two processes that
    walk this step at once, Lance lets one land."""
    builder = dataset.merge_insert("object_id").when_not_matched_insert_all().conflict_retries(0)
    transaction, _ = builder.execute_uncommitted(rows_table(rows))
    with suppress(ManifestConflict):
        commit(dataset, transaction)


def _accepted_schema(root: str, raw: RawStore, rows: Mapping[str, ManifestRow]) -> SchemaRecord:
    for row in rows.values():
        if row["object_type"] == "schema":
            return parse_schema(row)
    source = raw.read(SCHEMA_FILE)
    if source is None:
        raise StorageError(
            f"{root} has internal format 2 and no accepted schema",
            hint=f"Put its .pg source at {root}/{SCHEMA_FILE} and open it again.",
        )
    return schema_record(source.decode(), compile_schema(source.decode(), file=SCHEMA_FILE))
