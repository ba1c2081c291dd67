"""Nearest neighbours are exactly those of measuring every vector in double precision."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.common.array_types import Floats, Ints
from omnigraph.errors import InvalidInput
from omnigraph.exec.search.nearest_neighbours import VectorColumn

Rows = list[list[float | None] | None]


def column(rows: Rows | npt.NDArray[np.float32], dimension: int = 2) -> pa.Array:
    if isinstance(rows, np.ndarray):
        rows = rows.tolist()
    return pa.array(rows, pa.list_(pa.field("item", pa.float32()), dimension))


def distances(vectors: pa.Array | pa.ChunkedArray, query: npt.ArrayLike) -> Floats:
    return VectorColumn(vectors).distances(query)


def top(
    vectors: pa.Array | pa.ChunkedArray,
    query: npt.ArrayLike,
    k: int,
    positions: Ints | None = None,
) -> tuple[Ints, Floats]:
    return VectorColumn(vectors).top(query, k, positions)


NOTES = column([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])


def brute(
    rows: npt.NDArray[np.float32], query: npt.NDArray[np.float64], k: int
) -> tuple[list[int], list[float]]:
    measured = [float(np.sqrt(np.square(row - query).sum())) for row in rows.astype(np.float64)]
    order = sorted(range(len(rows)), key=lambda i: (measured[i], i))[:k]
    return order, [measured[i] for i in order]


def test_example_22() -> None:
    positions, found = top(NOTES, np.array([0.0, 0.0]), 2)
    assert (positions.tolist(), found.tolist()) == ([0, 1], [0.0, 1.0])
    positions, found = top(NOTES, np.array([0.0, 0.0]), 2, np.array([2, 3]))
    assert (positions.tolist(), found.tolist()) == ([2, 3], [2.0, 3.0])


def test_the_arms_of_example_24() -> None:
    """Fused with k = 60 they give 0.032266, 0.032002, 0.016393 and the tie of n1 and n4."""

    def fused(first: list[float], second: list[float], limit: int) -> list[tuple[str, float]]:
        arms = [top(NOTES, np.array(query), limit)[0].tolist() for query in (first, second)]
        scores = {p: sum(1 / (61 + a.index(p)) for a in arms if p in a) for p in range(4)}
        order = sorted(scores, key=lambda p: (-scores[p], [*arms[0], *arms[1]].index(p)))
        return [(f"n{p + 1}", round(scores[p], 6)) for p in order[:limit]]

    arms = {p for p, _ in fused([0.0, 0.0], [2.2, 0.0], 3)}
    assert arms == {"n1", "n2", "n3"}
    assert fused([0.0, 0.0], [2.2, 0.0], 3) == [
        ("n3", 0.032266),
        ("n2", 0.032002),
        ("n1", 0.016393),
    ]
    assert fused([0.0, 0.0], [3.0, 0.0], 2) == [("n1", 0.016393), ("n4", 0.016393)]


def test_nulls_have_no_distance_and_no_rank() -> None:
    rows: Rows = [[0.0, 1.0], None, [None, 1.0], [float("nan"), 0.0], [0.0, 0.5]]
    found = distances(column(rows), np.zeros(2))
    assert found.tolist() == pytest.approx([1.0, np.nan, np.nan, np.nan, 0.5], nan_ok=True)
    assert top(column(rows), np.zeros(2), 5)[0].tolist() == [4, 0]
    far: Rows = [[9.0, 9.0]] * 20
    assert top(column(rows + far), np.zeros(2), 1)[0].tolist() == [4]
    many = column([*[None] * 20, [1.0, 1.0]])
    assert top(many, np.zeros(2), 3)[0].tolist() == [20]
    assert top(many, np.zeros(2), 3, np.arange(20))[0].tolist() == []


def test_slices_and_chunks_are_the_same_vectors() -> None:
    rows: Rows = [[9.0, 9.0], [1.0, 0.0], None, [0.0, 0.0]]
    for vectors in (
        column(rows).slice(1),
        pa.chunked_array([column(rows[1:2]), column(rows[2:])]),
    ):
        assert top(vectors, np.zeros(2), 5)[0].tolist() == [2, 0]
        assert np.isnan(distances(vectors, np.zeros(2))[1])


def test_the_matrix_is_arrows_own_memory() -> None:
    vectors = VectorColumn(NOTES)
    assert vectors.matrix.ctypes.data == NOTES.values.buffers()[1].address
    assert vectors.nbytes >= vectors.matrix.nbytes


def test_an_empty_column_has_no_neighbours() -> None:
    for empty in (column([]), pa.chunked_array([], column([]).type)):
        assert top(empty, np.zeros(2), 3)[0].tolist() == []
        assert distances(empty, np.zeros(2)).tolist() == []


def test_equal_distances_come_by_position() -> None:
    vectors = VectorColumn(column([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 0.0]] * 50))
    positions = np.array([8, 2, 0, 1, 6, 199, *range(20, 60)])
    assert vectors.top(np.zeros(2), 2, positions)[0].tolist() == [23, 27]
    tied, found = vectors.top(np.zeros(2), 1, np.array([8, 2, 0, 1, 6]), ties=True)
    assert (tied.tolist(), set(found.tolist())) == ([0, 1, 2, 6, 8], {1.0})
    assert len(vectors.top(np.zeros(2), 60, ties=True)[0]) == 200
    assert len(vectors.top(np.zeros(2), 50, ties=True)[0]) == 50


@pytest.mark.parametrize("k", [0, -1])
def test_zero_neighbours_are_none_and_fewer_are_refused(k: int) -> None:
    if k == 0:
        assert top(NOTES, np.zeros(2), k)[0].tolist() == []
    else:
        with pytest.raises(InvalidInput):
            top(NOTES, np.zeros(2), k)


@pytest.mark.parametrize("query", [[0.0], [0.0, 0.0, 0.0], [np.nan, 0.0], [np.inf, 0.0]])
def test_a_query_must_fit(query: list[float]) -> None:
    with pytest.raises(InvalidInput):
        top(NOTES, np.array(query), 1)


@st.composite
def spaces(draw: st.DrawFn) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], int]:
    """Vectors far apart, close together, and equal; small, large and near the limits of floats."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dimension, count = draw(st.sampled_from([1, 2, 3, 17, 128])), draw(st.integers(1, 120))
    scale = draw(st.sampled_from([1.0, 1e-4, 1e-22, 1e-40, 1e4, 1e18, 1e30]))
    offset = draw(st.sampled_from([0.0, 1.0, 1000.0]))
    rows = ((rng.standard_normal((count, dimension)) + offset) * scale).astype(np.float32)
    if draw(st.booleans()):
        rows = rows[rng.integers(0, max(1, count // 3), count)]
    close = draw(st.booleans())
    query = rows[0] + (np.zeros(dimension) if close else rng.standard_normal(dimension) * scale)
    return rows, query.astype(np.float64), draw(st.integers(1, 12))


@given(spaces())
def test_the_nearest_are_those_of_measuring_all(
    space: tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], int],
) -> None:
    rows, query, k = space
    vectors = VectorColumn(pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1]))
    expected, measured = brute(rows, query, k)
    positions, found = vectors.top(query, k)
    assert (positions.tolist(), found.tolist()) == (expected, measured)
    everyone = vectors.distances(query)
    assert everyone[positions].tolist() == found.tolist()
    assert vectors.distances(query, positions).tolist() == found.tolist()
    some = np.arange(0, len(rows), 2)
    within = brute(rows[some], query, k)[0]
    assert vectors.top(query, k, some)[0].tolist() == some[within].tolist()


def test_the_fast_pass_leaves_few_to_measure() -> None:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((20_000, 64), dtype=np.float32)
    vectors = VectorColumn(pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 64))
    query = rng.standard_normal(64)
    assert len(vectors._candidates(query, 10, None)) < 20
    few = np.sort(rng.choice(20_000, 500, replace=False))
    expected = few[brute(rows[few], query, 10)[0]]
    assert vectors.top(query, 10, few)[0].tolist() == expected.tolist()
