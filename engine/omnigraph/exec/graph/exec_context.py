"""What one open graph keeps between queries: columns, ids, adjacency, plans. Thread-safe."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.embedding.embedder import EmbedderOf, no_embedder
from omnigraph.errors import Corruption, InvalidInput
from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.columns.column_cache import ColumnCache, LoadedTable
from omnigraph.exec.columns.fragment_cache import FragmentCache
from omnigraph.exec.columns.id_dictionary import IdDictionary
from omnigraph.exec.columns.live_rows import LiveRows
from omnigraph.exec.columns.node_numbering import NodeNumbering
from omnigraph.exec.graph.adjacency import (
    Adjacency,
    build_adjacency,
    extend_adjacency,
    shared_rows,
)
from omnigraph.exec.graph.adjacency_disk_cache import AdjacencyDiskCache
from omnigraph.query.compile import CompiledQuery, compile_query
from omnigraph.schema.model.catalog import Catalog
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.fragment_scan import TableSource
from omnigraph.storage.tables.fragment_stats import FragmentStats

COLUMN_BYTES = 2 << 30
ADJACENCY_BYTES = 2 << 30
COMPILED_QUERIES = 1024
SAVE_FROM = 20_000
"""Adjacency of fewer edges is not worth a file."""

Mode = Literal["auto", "indexed", "csr"]
T = TypeVar("T")


@dataclass
class Counters:
    """How often the expensive things happened; for tests and for `explain`."""

    built: int = 0
    extended: int = 0
    opened: int = 0
    lookups: int = 0


@dataclass
class ExecContext:
    """Caches of one open graph, each within its byte budget.

    `cache_dir` is where adjacency is saved between processes; without one it is in memory only.
    """

    root: str = ""
    cache_dir: Path | None = None
    column_bytes: int = COLUMN_BYTES
    adjacency_bytes: int = ADJACENCY_BYTES
    save_from: int = SAVE_FROM
    embedder: EmbedderOf = no_embedder
    mode: Mode | None = None
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self._live = LiveRows()
        self.columns = ColumnCache(self.column_bytes, self._live)
        self._tables: BoundedCache[Hashable, LoadedTable] = BoundedCache(256)
        self._numberings: BoundedCache[Hashable, NodeNumbering] = BoundedCache(self.column_bytes)
        self._dense: FragmentCache[Handles] = FragmentCache(
            self.column_bytes, self._live, np.ndarray.take
        )
        self._adjacency: BoundedCache[Hashable, Adjacency] = BoundedCache(self.adjacency_bytes)
        self._indexed: BoundedCache[Hashable, int] = BoundedCache(1024)
        self._newest: dict[Hashable, TableVersion] = {}
        self._dictionaries: dict[int, IdDictionary] = {}
        self._compiled: BoundedCache[Hashable, CompiledQuery] = BoundedCache(COMPILED_QUERIES)
        self._plans: BoundedCache[Hashable, tuple[object, Any]] = BoundedCache(COMPILED_QUERIES)
        self._disk = (
            None if self.cache_dir is None else AdjacencyDiskCache(self.cache_dir, self.root)
        )
        self._lock = threading.Lock()
        self._building: defaultdict[Hashable, threading.RLock] = defaultdict(threading.RLock)

    # ------------------------------------------------------------------ plans

    def compiled(
        self,
        source: str,
        name: str | None,
        catalog: Catalog,
        schema_hash: str,
        file: str | None = None,
    ) -> CompiledQuery:
        """A query of a text, compiled once for a schema; `file` names the text in errors."""
        key = (source, name, schema_hash, file)
        found = self._compiled.get(key)
        if found is None:
            found = compile_query(source, catalog, name, file)
            self._compiled.put(key, found)
        return found

    def planned(self, owner: object, state: Hashable, make: Callable[[], T]) -> T:
        """Something derived once from an object that outlives a run, for one state of the graph."""
        key = (id(owner), state)
        found = self._plans.get(key)
        if found is None or found[0] is not owner:
            found = (owner, make())
            self._plans.put(key, found)
        made: T = found[1]
        return made

    @property
    def traversal_mode(self) -> Mode:
        """`indexed` or `csr` where that is configured, else `auto`."""
        mode = self.mode or os.environ.get("OMNIGRAPH_TRAVERSAL_MODE") or "auto"
        match mode:
            case "auto" | "indexed" | "csr":
                return mode
        raise InvalidInput(
            f"OMNIGRAPH_TRAVERSAL_MODE is {mode!r}", hint="Use indexed, csr or auto."
        )

    # ------------------------------------------------------------------ tables and nodes

    def table(self, source: TableSource) -> LoadedTable:
        """A table version by position; its columns are read when needed."""
        key = source.version
        found = self._tables.get(key)
        if found is None:
            found = LoadedTable(source, self.columns)
            self._tables.put(key, found)
        return found

    def dictionary(self, identity: int) -> IdDictionary:
        """The dense numbers of a node table's lifetime."""
        with self._lock:
            found = self._dictionaries.get(identity)
            if found is None:
                found = IdDictionary() if self._disk is None else self._disk.dictionary(identity)
                self._dictionaries[identity] = found
            return found

    def numbering(self, source: TableSource) -> NodeNumbering:
        """The nodes of a table version."""
        found = self._numberings.get(source.version)
        if found is None:
            with self._only_one(source.version):
                found = self._numberings.get(source.version) or self._number_nodes(source)
                self._numberings.put(source.version, found, 4 * found.size + 64)
        return found

    def _number_nodes(self, source: TableSource) -> NodeNumbering:
        table = self.table(source)
        dictionary = self.dictionary(source.identity)
        parts = [
            self._known_numbers(source, dictionary, index, fragment)
            for index, fragment in enumerate(table.fragments)
        ]
        missing = [index for index, part in enumerate(parts) if part is None]
        if missing:
            rows = [table.fragments[index].rows for index in missing]
            (read,) = source.read_fragments(["id"], missing, rows)
            for index, ids in zip(missing, read, strict=True):
                numbers = dictionary.add(ids)
                parts[index] = self._dense.put(source.identity, table.fragments[index], numbers)
        return NodeNumbering(dictionary, table, [part for part in parts if part is not None])

    def _known_numbers(
        self, source: TableSource, dictionary: IdDictionary, index: int, fragment: FragmentStats
    ) -> Handles | None:
        """The numbers of a fragment's rows, if they can be had without reading their ids."""
        found = self._dense.find(source.identity, source, index, fragment)
        if found is None and self._disk is not None:
            found = self._disk.dense(source.identity, dictionary, fragment)
            if found is not None:
                self._dense.put(source.identity, fragment, found)
        return found

    # ------------------------------------------------------------------ edges

    def indexed_reads(self, version: TableVersion) -> int:
        """How many reads went through the indexes of a table version."""
        return self._indexed.get(version) or 0

    def count_indexed_read(self, version: TableVersion) -> None:
        self._indexed.put(version, self.indexed_reads(version) + 1)

    def in_memory(self, source: TableSource) -> bool:
        """Whether the nodes of a table, or the adjacency of an edge table, need no loading."""
        found = self._numberings.get(source.version) or self._adjacency.get(source.version)
        return found is not None

    def spares_ids(self, source: TableSource) -> bool:
        """Whether the ids of a node table are many and have not been read."""
        unread = self._numberings.get(source.version) is None
        return unread and self.columns.spares(self.table(source), "id")

    def adjacency(self, edge: TableSource, src: TableSource, dst: TableSource) -> Adjacency:
        """The adjacency of an edge table version between two node tables."""
        found = self._adjacency.get(edge.version)
        if found is None:
            with self._only_one(edge.version):
                found = self._adjacency.get(edge.version) or self._make_adjacency(edge, src, dst)
                self._adjacency.put(edge.version, found, 2 * found.nbytes + 64)
                self._newest[(edge.version.location, edge.identity)] = edge.version
        return found

    def _make_adjacency(self, edge: TableSource, src: TableSource, dst: TableSource) -> Adjacency:
        sources, targets = self.numbering(src), self.numbering(dst)
        fragments = self.table(edge).fragments
        base = self._base(edge, fragments, sources.dictionary, targets.dictionary)
        if base is not None and base.fragments == fragments:
            self.counters.opened += 1
            return base
        if base is not None:
            self.counters.extended += 1

            def one(index: int) -> tuple[Handles, Handles]:
                return self._endpoints(edge, (index,), sources, targets)

            survivors = self._survivors(edge, base, fragments)
            made = extend_adjacency(base, fragments, survivors, one, sources.size, targets.size)
        else:
            self.counters.built += 1
            every = tuple(range(len(fragments)))
            from_, to = self._endpoints(edge, every, sources, targets)
            made = build_adjacency(fragments, from_, to, sources.size, targets.size)
        if self._disk is not None and made.edges >= self.save_from:
            self._save(made, edge, src, dst)
        return made

    def _base(
        self,
        edge: TableSource,
        fragments: tuple[FragmentStats, ...],
        sources: IdDictionary,
        targets: IdDictionary,
    ) -> Adjacency | None:
        """Adjacency of another version that is worth extending: most of it can stay."""
        newest = self._newest.get((edge.version.location, edge.identity))
        base = None if newest is None else self._adjacency.get(newest)
        if base is None and self._disk is not None:
            base = self._disk.adjacency(edge.version.location, fragments, sources, targets)
        if base is None or 2 * shared_rows(base.fragments, fragments) < max(base.edges, 1):
            return None
        return base

    def _survivors(
        self, edge: TableSource, base: Adjacency, fragments: tuple[FragmentStats, ...]
    ) -> dict[str, AnyArray]:
        """For fragments that lost rows since the base, where those that are left were in it."""
        older = {fragment.files: fragment for fragment in base.fragments}
        same = {fragment.key for fragment in base.fragments}
        found = {}
        for index, fragment in enumerate(fragments):
            if fragment.key not in same and fragment.files in older:
                indices = self._live.within(edge, index, fragment, older[fragment.files])
                if indices is not None:
                    found[fragment.key] = indices
        return found

    def _save(self, made: Adjacency, edge: TableSource, src: TableSource, dst: TableSource) -> None:
        assert self._disk is not None
        ends = {source.identity: source for source in (src, dst)}
        with self._only_one("keep"):
            for identity, source in ends.items():
                dictionary = self.dictionary(identity)
                if not self._disk.save_dictionary(identity, dictionary):
                    return
                for fragment in self.table(source).fragments:
                    dense = self._dense.exact(identity, fragment)
                    if dense is not None:
                        self._disk.save_dense(identity, dictionary, fragment, dense)
            version = edge.version
            sources, targets = self.dictionary(src.identity), self.dictionary(dst.identity)
            self._disk.save_adjacency(version.location, version.lance, made, sources, targets)

    def _endpoints(
        self,
        edge: TableSource,
        indices: tuple[int, ...],
        sources: NodeNumbering,
        targets: NodeNumbering,
    ) -> tuple[Handles, Handles]:
        fragments = self.table(edge).fragments
        rows = [fragments[index].rows for index in indices]
        if not sum(rows):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        src, dst = edge.read_fragments(["src", "dst"], indices, rows)
        found = (
            np.concatenate([sources.dictionary.find(part) for part in src]),
            np.concatenate([targets.dictionary.find(part) for part in dst]),
        )
        if min(ends.min() for ends in found) < 0:
            raise Corruption(
                f"{edge.version.location} has an edge whose node does not exist",
                hint="Run `omnigraph verify` to see what else is affected.",
                details={"location": edge.version.location, "lance_version": edge.version.lance},
            )
        return found

    @contextmanager
    def _only_one(self, key: Hashable) -> Iterator[None]:
        """No other thread builds the same thing meanwhile."""
        with self._lock:
            lock = self._building[key]
        with lock:
            yield
        with self._lock:
            self._building.pop(key, None)
