"""The adjacency of one edge table version, in each form that a traversal needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, Handles, index_dtype
from omnigraph.exec.graph import csr
from omnigraph.exec.graph.csr import Csr
from omnigraph.storage.tables.fragment_stats import FragmentStats

EdgeDirection = Literal["forward", "reverse", "undirected"]


class Adjacency:
    """Neighbours by dense id. Bags name edges by position; sets have each neighbour once.

    A form is derived when first needed; the lock keeps that to once.
    """

    def __init__(self, fragments: tuple[FragmentStats, ...], out: Csr, into: Csr) -> None:
        self.fragments = fragments
        self._lock = threading.RLock()
        self._bags: dict[EdgeDirection, Csr] = {"forward": out, "reverse": into}
        self._sets: dict[EdgeDirection, Csr] = {}

    @property
    def edges(self) -> int:
        return len(self._bags["forward"].targets)

    @property
    def nbytes(self) -> int:
        return sum(form.nbytes for form in (*self._bags.values(), *self._sets.values()))

    def bag(self, direction: EdgeDirection, rows: int) -> Csr:
        """One entry per edge, at least `rows` rows."""
        bags = self._bags
        return self._form(
            bags, direction, rows, lambda: csr.union_bag(bags["forward"], bags["reverse"])
        )

    def set(self, direction: EdgeDirection, rows: int) -> Csr:
        """One entry per neighbour, at least `rows` rows."""
        return self._form(self._sets, direction, rows, lambda: self._set(direction, rows))

    def _form(
        self,
        forms: dict[EdgeDirection, Csr],
        direction: EdgeDirection,
        rows: int,
        make: Callable[[], Csr],
    ) -> Csr:
        found = forms.get(direction)
        if found is None or found.rows < rows:
            with self._lock:
                found = (forms.get(direction) or make()).padded(rows)
                forms[direction] = found
        return found

    def _set(self, direction: EdgeDirection, rows: int) -> Csr:
        if direction != "undirected":
            return self.bag(direction, rows).without_parallel()
        out, into = self.set("forward", rows), self.set("reverse", rows)
        return csr.union(out, into, max(out.rows, into.rows))


def build_adjacency(
    fragments: tuple[FragmentStats, ...], src: Handles, dst: Handles, sources: int, targets: int
) -> Adjacency:
    """From the endpoints of every edge, by position."""
    edges = np.arange(len(src), dtype=index_dtype(len(src)))
    out = csr.build(sources, src, dst, targets, edges)
    into = csr.build(targets, dst, src, sources, edges)
    return Adjacency(fragments, out, into)


def extend_adjacency(
    base: Adjacency,
    fragments: tuple[FragmentStats, ...],
    survivors: Mapping[str, AnyArray],
    endpoints: Callable[[int], tuple[Handles, Handles]],
    sources: int,
    targets: int,
) -> Adjacency:
    """The adjacency of another version of the same table; only new fragments are sorted.

    `endpoints` gives source and target of the edges of the fragment at an index. `survivors` says,
    for a fragment that lost edges since the base, where those that are left were in it.
    """
    moved = _moved(base, fragments, survivors)
    offsets = np.cumsum([0, *(fragment.rows for fragment in fragments)])
    total = int(offsets[-1])
    known = {fragment.key for fragment in base.fragments} | survivors.keys()
    fresh = [index for index, fragment in enumerate(fragments) if fragment.key not in known]
    dtype = index_dtype(total)
    numbers = [np.arange(offsets[i], offsets[i + 1], dtype=dtype) for i in fresh]
    ends = [endpoints(index) for index in fresh]
    src = np.concatenate([np.empty(0, np.int32), *(pair[0] for pair in ends)])
    dst = np.concatenate([np.empty(0, np.int32), *(pair[1] for pair in ends)])
    edges = np.concatenate([np.empty(0, dtype), *numbers])
    out = _extended(base.bag("forward", sources), moved, src, dst, targets, edges)
    into = _extended(base.bag("reverse", targets), moved, dst, src, sources, edges)
    return Adjacency(fragments, out, into)


def shared_rows(base: tuple[FragmentStats, ...], fragments: tuple[FragmentStats, ...]) -> int:
    """How many edges of a version are in files that the base has too."""
    known = {fragment.files for fragment in base}
    return sum(fragment.rows for fragment in fragments if fragment.files in known)


def _moved(
    base: Adjacency, fragments: tuple[FragmentStats, ...], survivors: Mapping[str, AnyArray]
) -> AnyArray | None:
    """The new position of every old edge, -1 where it was deleted; none if all are as before."""
    if fragments[: len(base.fragments)] == base.fragments:
        return None
    offsets = np.cumsum([0, *(fragment.rows for fragment in fragments)])
    now = {f.files: (f, int(offset)) for f, offset in zip(fragments, offsets, strict=False)}
    parts = [np.empty(0, np.int64)]
    for fragment in base.fragments:
        moved = np.full(fragment.rows, -1, np.int64)
        later, start = now.get(fragment.files, (None, 0))
        if later is not None and later.key == fragment.key:
            moved = np.arange(start, start + fragment.rows, dtype=np.int64)
        elif later is not None and later.key in survivors:
            moved[survivors[later.key]] = np.arange(start, start + later.rows)
        parts.append(moved)
    return np.concatenate(parts)


def _extended(
    base: Csr,
    moved: AnyArray | None,
    owners: AnyArray,
    targets: AnyArray,
    columns: int,
    edges: AnyArray,
) -> Csr:
    addition = csr.build(base.rows, owners, targets, columns, edges)
    chosen: Mask | None = None
    if moved is not None:
        assert base.edges is not None
        renumbered = moved[base.edges]
        base = Csr(base.starts, base.targets, renumbered.astype(edges.dtype))
        chosen = renumbered >= 0
        if chosen.all():
            chosen = None
    return csr.merge(base, chosen, addition)
