"""What one open graph keeps between queries: columns, ids, adjacency, plans. Thread-safe."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.embedding import Embedder
from omnigraph.errors import Corruption, InvalidInput
from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.columns.column_cache import ColumnCache, LoadedTable
from omnigraph.exec.columns.id_dictionary import IdDictionary
from omnigraph.exec.columns.live_rows import LiveRows
from omnigraph.exec.columns.node_numbering import NodeNumbering
from omnigraph.exec.graph.adjacency import (
    Adjacency,
    build_adjacency,
    extend_adjacency,
    shared_rows,
)
from omnigraph.exec.graph.adjacency_disk_cache import AdjacencyDiskCache, default_cache_dir
from omnigraph.query.compile import CompiledQuery, compile_query
from omnigraph.schema.model.catalog import Catalog
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.fragment_scan import TableSource
from omnigraph.storage.tables.fragment_stats import FragmentStats

COLUMN_BYTES = 2 << 30
ADJACENCY_BYTES = 2 << 30
COMPILED_QUERIES = 1024
KEEP_FROM = 20_000
"""Adjacency of fewer edges is not worth a file."""

Mode = Literal["auto", "indexed", "csr"]


EmbedderOf = Callable[[int], Embedder | None]
"""The embedder for vectors of a dimension, if there is one."""


@dataclass
class Counters:
    """How often the expensive things happened; for tests and for `explain`."""

    built: int = 0
    extended: int = 0
    opened: int = 0
    probes: int = 0


@dataclass
class ExecContext:
    """Caches of one open graph, each within its byte budget.

    `cache_dir` is where adjacency is kept between processes; none keeps it in memory only.
    """

    root: str = ""
    cache_dir: Path | None = None
    column_bytes: int = COLUMN_BYTES
    adjacency_bytes: int = ADJACENCY_BYTES
    keep_from: int = KEEP_FROM
    embedder: EmbedderOf | None = None
    mode: Mode | None = None
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self._live = LiveRows()
        self.columns = ColumnCache(self.column_bytes, self._live)
        self._tables: BoundedCache[Hashable, LoadedTable] = BoundedCache(256)
        self._spaces: BoundedCache[Hashable, NodeNumbering] = BoundedCache(self.column_bytes)
        self._dense: BoundedCache[Hashable, Handles] = BoundedCache(self.column_bytes)
        self._last: BoundedCache[Hashable, tuple[FragmentStats, Handles]] = BoundedCache(
            self.column_bytes
        )
        self._adjacency: BoundedCache[Hashable, Adjacency] = BoundedCache(self.adjacency_bytes)
        self._probed: BoundedCache[Hashable, int] = BoundedCache(1024)
        self._newest: dict[Hashable, TableVersion] = {}
        self._dictionaries: dict[int, IdDictionary] = {}
        self._compiled: BoundedCache[Hashable, CompiledQuery] = BoundedCache(COMPILED_QUERIES)
        self._plans: BoundedCache[Hashable, tuple[object, Any]] = BoundedCache(COMPILED_QUERIES)
        self._kept = (
            None if self.cache_dir is None else AdjacencyDiskCache(self.cache_dir, self.root)
        )
        self._lock = threading.Lock()
        self._building: defaultdict[Hashable, threading.RLock] = defaultdict(threading.RLock)

    @classmethod
    def of(cls, root: str, **options: Any) -> ExecContext:  # noqa: ANN401
        """The context of a graph, with adjacency kept in the platform's cache directory."""
        return cls(root=root, cache_dir=default_cache_dir(), **options)

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

    def planned(self, owner: object, state: Hashable, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Something derived once from an object that outlives a run, for one state of the graph."""
        key = (id(owner), state)
        found = self._plans.get(key)
        if found is None or found[0] is not owner:
            found = (owner, make())
            self._plans.put(key, found)
        return found[1]

    @property
    def traversal_mode(self) -> Mode:
        """`indexed` or `csr` where somebody insists, else `auto`."""
        mode = self.mode or os.environ.get("OMNIGRAPH_TRAVERSAL_MODE") or "auto"
        match mode:
            case "auto" | "indexed" | "csr":
                return mode
        raise InvalidInput(
            f"OMNIGRAPH_TRAVERSAL_MODE is {mode!r}", hint="Use indexed, csr or auto."
        )

    # ------------------------------------------------------------------ tables and nodes

    def table(self, source: TableSource) -> LoadedTable:
        """A table version by position; its columns are read when asked for."""
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
                found = IdDictionary() if self._kept is None else self._kept.dictionary(identity)
                self._dictionaries[identity] = found
            return found

    def space(self, source: TableSource) -> NodeNumbering:
        """The nodes of a table version."""
        found = self._spaces.get(source.version)
        if found is None:
            with self._only_one(("space", source.version)):
                found = self._spaces.get(source.version)
                if found is None:
                    found = self._space(source)
                    self._spaces.put(source.version, found, 4 * found.size + 64)
        return found

    def _space(self, source: TableSource) -> NodeNumbering:
        table = self.table(source)
        dictionary = self.dictionary(source.identity)
        missing = [
            place
            for place, fragment in enumerate(table.fragments)
            if self._dense.get((source.identity, fragment.key)) is None
            and not self._opened(source, dictionary, place, fragment)
        ]
        if missing:
            rows = [table.fragments[place].rows for place in missing]
            (parts,) = source.read_fragments(["id"], missing, rows)
            for place, ids in zip(missing, parts, strict=True):
                self._number(source.identity, table.fragments[place], dictionary.add(ids))
        parts = [self._dense.get((source.identity, f.key)) for f in table.fragments]
        if any(part is None for part in parts):
            parts = [dictionary.add(table.column("id"))]
        return NodeNumbering(dictionary, table, parts)

    def _opened(
        self, source: TableSource, dictionary: IdDictionary, place: int, fragment: FragmentStats
    ) -> bool:
        """Whether the numbers of a fragment's rows could be had without reading their ids."""
        found = None
        older = self._last.get((source.identity, fragment.files))
        if older is not None:
            places = self._live.within(source, place, fragment, older[0])
            found = None if places is None else older[1][places]
        if found is None and self._kept is not None:
            found = self._kept.dense(source.identity, dictionary, fragment)
        if found is None:
            return False
        self._number(source.identity, fragment, found)
        return True

    def _number(self, identity: int, fragment: FragmentStats, dense: Handles) -> None:
        self._dense.put((identity, fragment.key), dense, dense.nbytes + 64)
        self._last.put((identity, fragment.files), (fragment, dense), dense.nbytes + 64)

    # ------------------------------------------------------------------ edges

    def probed_reads(self, version: TableVersion) -> int:
        """How many reads went through the indexes of a table version."""
        return self._probed.get(version) or 0

    def count_probed_read(self, version: TableVersion) -> None:
        self._probed.put(version, self.probed_reads(version) + 1)

    def in_memory(self, source: TableSource) -> bool:
        """Whether the nodes of a table, or the adjacency of an edge table, need no loading."""
        caches: tuple[BoundedCache[Hashable, Any], ...] = (self._spaces, self._adjacency)
        return any(cache.get(source.version) is not None for cache in caches)

    def spares_ids(self, source: TableSource) -> bool:
        """Whether the ids of a node table are many and have not been read."""
        unread = self._spaces.get(source.version) is None
        return unread and self.columns.spares(self.table(source), "id")

    def adjacency(self, edge: TableSource, src: TableSource, dst: TableSource) -> Adjacency:
        """The adjacency of an edge table version between two node tables."""
        found = self._adjacency.get(edge.version)
        if found is None:
            with self._only_one(("adjacency", edge.version)):
                found = self._adjacency.get(edge.version)
                if found is None:
                    found = self._make_adjacency(edge, src, dst)
                    weight = 2 * found.nbytes + 64
                    self._adjacency.put(edge.version, found, weight)
                    self._newest[(edge.version.location, edge.identity)] = edge.version
        return found

    def _make_adjacency(self, edge: TableSource, src: TableSource, dst: TableSource) -> Adjacency:
        sources, targets = self.space(src), self.space(dst)
        fragments = self.table(edge).fragments
        base = self._base(edge, fragments, sources.dictionary, targets.dictionary)
        if base is not None and base.fragments == fragments:
            self.counters.opened += 1
            return base
        if base is not None:
            self.counters.extended += 1

            def one(place: int) -> tuple[Handles, Handles]:
                return self._endpoints(edge, (place,), sources, targets)

            kept = self._survivors(edge, base, fragments)
            made = extend_adjacency(base, fragments, kept, one, sources.size, targets.size)
        else:
            self.counters.built += 1
            every = tuple(range(len(fragments)))
            from_, to = self._endpoints(edge, every, sources, targets)
            made = build_adjacency(fragments, from_, to, sources.size, targets.size)
        if self._kept is not None and made.edges >= self.keep_from:
            self._keep(made, edge, src, dst)
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
        if base is None and self._kept is not None:
            base = self._kept.adjacency(edge.version.location, fragments, sources, targets)
        if base is None or 2 * shared_rows(base, fragments) < max(base.edges, 1):
            return None
        return base

    def _survivors(
        self, edge: TableSource, base: Adjacency, fragments: tuple[FragmentStats, ...]
    ) -> dict[str, AnyArray]:
        """For fragments that lost rows since the base, where those that are left were in it."""
        older = {fragment.files: fragment for fragment in base.fragments}
        same = {fragment.key for fragment in base.fragments}
        found = {}
        for place, fragment in enumerate(fragments):
            if fragment.key not in same and fragment.files in older:
                places = self._live.within(edge, place, fragment, older[fragment.files])
                if places is not None:
                    found[fragment.key] = places
        return found

    def _keep(self, made: Adjacency, edge: TableSource, src: TableSource, dst: TableSource) -> None:
        assert self._kept is not None
        ends = {source.identity: source for source in (src, dst)}
        with self._only_one("keep"):
            for identity, source in ends.items():
                dictionary = self.dictionary(identity)
                if not self._kept.save_dictionary(identity, dictionary):
                    return
                for fragment in self.table(source).fragments:
                    dense = self._dense.get((identity, fragment.key))
                    if dense is not None:
                        self._kept.save_dense(identity, dictionary, fragment, dense)
            version = edge.version
            sources, targets = self.dictionary(src.identity), self.dictionary(dst.identity)
            self._kept.save_adjacency(version.location, version.lance, made, sources, targets)

    def _endpoints(
        self,
        edge: TableSource,
        places: tuple[int, ...],
        sources: NodeNumbering,
        targets: NodeNumbering,
    ) -> tuple[Handles, Handles]:
        fragments = self.table(edge).fragments
        rows = [fragments[place].rows for place in places]
        if not sum(rows):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        src, dst = edge.read_fragments(["src", "dst"], places, rows)
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
        """Nobody else builds the same thing meanwhile."""
        with self._lock:
            lock = self._building[key]
        with lock:
            yield
        with self._lock:
            self._building.pop(key, None)
