"""One graph as this process has it open: the doors, the publisher, and the accepted schemas."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.errors import AlreadyExists, Corruption, StorageError
from omnigraph.schema import Catalog, compile_schema
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.storage.commit.publish_plan import existing_head
from omnigraph.storage.commit.publisher import PUBLISHER_RETRY_BUDGET, Publisher
from omnigraph.storage.core.durability import resolve_durability
from omnigraph.storage.core.file_sync import FileSync
from omnigraph.storage.core.io_counts import StoreCounts
from omnigraph.storage.core.layout import is_local, normalize_root, table_location
from omnigraph.storage.core.model import (
    MAIN,
    Commit,
    Head,
    SchemaRecord,
    TablePointer,
    pointer_to,
    schema_record,
)
from omnigraph.storage.core.object_store import RawStore, storage_options
from omnigraph.storage.manifest.commit_outcome import ManifestConflict
from omnigraph.storage.manifest.definitions import Definition, definition_id, parse_definition
from omnigraph.storage.manifest.first_commit import first_commit
from omnigraph.storage.manifest.format_version import migrate, require_readable
from omnigraph.storage.manifest.manifest import Manifest, ManifestView
from omnigraph.storage.manifest.row_codec import (
    ManifestRow,
    allocator_row,
    commit_id,
    commit_row,
    head_row,
    parse_commit,
    parse_head,
    parse_schema,
    schema_id,
    schema_row,
    table_row,
    version_row,
)
from omnigraph.storage.manifest.upgrade_to_format_3 import build_heads
from omnigraph.storage.tables.tables import TableStore, new_session

INDEX_CACHE_BYTES = 256 << 20
METADATA_CACHE_BYTES = 64 << 20
"""Every commit leaves the metadata of its versions here, about 12 KB of it."""
COMMIT_CACHE_POINTERS = 1 << 16
"""Commits are cached up to so many pointers together: one has as many as there are tables."""
STAGING_THREADS = 8


class GraphStore:
    """The storage of one open graph. Safe to share between threads."""

    def __init__(
        self,
        root: str,
        options: Mapping[str, str],
        manifest: Manifest,
        view: ManifestView,
        tables: TableStore,
        retry_budget: int,
    ) -> None:
        self.root = root
        self.options = options
        self.manifest = manifest
        self.tables = tables
        self.raw = RawStore(root, options, tables.sync)
        self.publisher = Publisher(root, manifest, view, retry_budget)
        self.workers = ThreadPoolExecutor(STAGING_THREADS, thread_name_prefix="omnigraph-stage")
        self.writers = ThreadPoolExecutor(STAGING_THREADS, thread_name_prefix="omnigraph-write")
        self._schemas: BoundedCache[str, tuple[SchemaRecord, Catalog]] = BoundedCache(64)
        self._commits: BoundedCache[str, Commit] = BoundedCache(COMMIT_CACHE_POINTERS)
        self._ready_lock = threading.Lock()
        self._ready_to_write = False

    def counts(self) -> StoreCounts:
        """Requests to the store so far; every handle of the graph counts into one total."""
        io = self.publisher.view.dataset.io_stats_snapshot()
        return StoreCounts(
            io.read_iops,
            io.write_iops,
            io.read_bytes,
            io.written_bytes,
            self.publisher.retries,
            *self.tables.handle_uses,
        )

    # ------------------------------------------------------------------ life

    @classmethod
    def create(
        cls,
        uri: str | Path,
        source: str,
        *,
        file: str | None = None,
        options: Mapping[str, str] | None = None,
        actor: str | None = None,
        durability: str | None = None,
    ) -> GraphStore:
        """Make a new graph with a schema; nothing is there if it fails."""
        root = normalize_root(uri)
        catalog = compile_schema(source, file=file)
        resolved = storage_options(options)
        sync = FileSync(root, resolve_durability(durability))
        prepare_root(root, resolved)
        sync.sync_root()
        manifest, tables = _doors(root, resolved, sync)
        if manifest.exists():
            raise _exists(root)
        with ThreadPoolExecutor(STAGING_THREADS) as pool:
            created = pool.map(
                lambda type_: tables.create(table_location(type_.table_key), table_schema(type_)),
                catalog.types(),
            )
            pointers = {
                type_.table_key: pointer_to(version, 0, type_.identity, 1)
                for type_, version in zip(catalog.types(), created, strict=True)
            }
        record = schema_record(source, catalog)
        try:
            view = manifest.create(_genesis_rows(record, catalog, pointers, actor))
        except ManifestConflict as error:
            raise _exists(root) from error
        store = cls(root, resolved, manifest, view, tables, PUBLISHER_RETRY_BUDGET)
        store._ready_to_write = True
        return store

    @classmethod
    def open(
        cls,
        uri: str | Path,
        *,
        options: Mapping[str, str] | None = None,
        retry_budget: int = PUBLISHER_RETRY_BUDGET,
        durability: str | None = None,
    ) -> GraphStore:
        """Open an existing graph. Nothing is written until the first write."""
        root = normalize_root(uri)
        resolved = storage_options(options)
        sync = FileSync(root, resolve_durability(durability))
        manifest, tables = _doors(root, resolved, sync)
        view = manifest.open()
        require_readable(view.dataset)
        return cls(root, resolved, manifest, view, tables, retry_budget)

    def ready_to_write(self) -> None:
        """Once, before the first write: the store must be safe, and the format current."""
        with self._ready_lock:
            if self._ready_to_write:
                return
            if not is_local(self.root):
                self.raw.require_conditional_put()
            view = self.publisher.refresh()
            dataset = view.dataset.checkout_version(view.version)
            heads = partial(build_heads, self.root, self.raw)
            if migrate(dataset, heads, self.manifest.commit_upgrade):
                self.publisher.refresh()
            self._ready_to_write = True

    # ------------------------------------------------------------------ reading

    def head(self, branch: str, *, fresh: bool = True) -> Head:
        """The tip of a branch."""
        return existing_head(self.publisher.refresh() if fresh else self.publisher.view, branch)

    def heads(self, view: ManifestView | None = None) -> list[Head]:
        """The tips of all branches, by name."""
        rows = (view or self.publisher.refresh()).rows("graph_head")
        return sorted((parse_head(row) for row in rows), key=lambda head: head.branch)

    def schema(self, schema_hash: str) -> tuple[SchemaRecord, Catalog]:
        """An accepted schema by its hash."""
        cached = self._schemas.get(schema_hash)
        if cached is not None:
            return cached
        row = self._named_row(schema_id(schema_hash))
        if row is None:
            raise StorageError(
                f"the manifest has no schema {schema_hash}", hint="Run `omnigraph verify`."
            )
        schema = _parse_schema(row)
        self._schemas.put(schema_hash, schema)
        return schema

    def _named_row(self, object_id: str) -> ManifestRow | None:
        """A row in the view that is there, or else in the newest."""
        return self.publisher.view.row(object_id) or self.publisher.refresh().row(object_id)

    def catalog(self, schema_hash: str) -> Catalog:
        """The compiled schema of that hash."""
        return self.schema(schema_hash)[1]

    def definition(self, key: str, content_hash: str) -> Definition:
        """One content of a definition; the manifest's view has them all."""
        row = self._named_row(definition_id(key, content_hash))
        if row is None:
            raise Corruption(
                f"the definition {key} (hash {content_hash}) is missing from the manifest",
                hint="Run `omnigraph verify` to see what else is affected.",
            )
        return parse_definition(row)

    def commit(self, commit: str) -> Commit | None:
        """A commit by its id, on whatever branch it was made."""
        cached = self._commits.get(commit)
        if cached is None:
            row = self.manifest.find(self.publisher.refresh(), commit_id(commit))
            if row is not None:
                cached = parse_commit(row)
                weight = 32 + len(cached.tables) + len(cached.definitions)
                self._commits.put(commit, cached, weight)
        return cached

    def all_commits(self, view: ManifestView | None = None) -> dict[str, Commit]:
        """Every commit in the manifest, by id; in its newest view unless one is given."""
        view = view or self.publisher.refresh()
        rows = self.manifest.history(view, "object_type = 'graph_commit'")
        return {commit.id: commit for commit in (parse_commit(row) for row, _ in rows)}


def _parse_schema(row: ManifestRow) -> tuple[SchemaRecord, Catalog]:
    record = parse_schema(row)
    try:
        return record, Catalog.from_json(dict(record.compiled))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corruption(
            f"the compiled form of {row['object_id']} cannot be read: {error!r}",
            hint="Run `omnigraph verify` to see what else is affected.",
        ) from error


def _doors(root: str, options: Mapping[str, str], sync: FileSync) -> tuple[Manifest, TableStore]:
    session = new_session(
        index_cache_size_bytes=INDEX_CACHE_BYTES, metadata_cache_size_bytes=METADATA_CACHE_BYTES
    )
    return Manifest(root, options, session, sync), TableStore(root, options, session, sync)


def prepare_root(root: str, options: Mapping[str, str]) -> None:
    """Make sure that a graph can be made at a root: the folder exists, or the store is safe."""
    if not is_local(root):
        RawStore(root, options).require_conditional_put()
        return
    try:
        Path(root).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot create {root}: {error.strerror}",
            hint="Choose a folder that you may write to.",
        ) from error


def _exists(root: str) -> AlreadyExists:
    return AlreadyExists(
        f"there is a graph at {root} already",
        hint="Open it with omnigraph.open(), or choose another location.",
    )


def _genesis_rows(
    record: SchemaRecord,
    catalog: Catalog,
    pointers: Mapping[str, TablePointer],
    actor: str | None,
) -> Sequence[ManifestRow]:
    commit, head = first_commit(
        MAIN, record.hash, pointers, message="create the graph", actor=actor
    )
    return [
        head_row(head),
        commit_row(commit),
        schema_row(record),
        allocator_row(catalog.next_identity),
        *(table_row(key, p.location, p.identity) for key, p in pointers.items()),
        *(version_row(MAIN, key, p, commit.id) for key, p in pointers.items()),
    ]
