"""The snapshot API: columns, filters, limits, single entities, and what a transaction sees."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import ConstraintViolation, InvalidInput, NotFound, OmniGraphError
from support.graphs import boats, contents, edge, ids, ndjson, node, refused, rows

EVERYTHING = """
node Every { k: String @key  b: Bool?  blob: Blob?  d: Date?  e: enum(x, y)?  f32: F32?  f64: F64?
             i32: I32?  i64: I64?  s: String?  t: DateTime?  u32: U32?  u64: U64?  v: Vector(3)?
             lb: [Bool]?  ld: [Date]?  lf32: [F32]?  lf64: [F64]?  li32: [I32]?  li64: [I64]?
             ls: [String]?  lt: [DateTime]?  lu32: [U32]?  lu64: [U64]? }
"""
UTC = dt.UTC
FULL = {
    "k": "full",
    "b": True,
    "blob": "base64:AAEC/w==",
    "d": "1969-12-31",
    "e": "x",
    "f32": 0.1,
    "f64": 1e-300,
    "i32": -(2**31),
    "i64": 2**63 - 1,
    "s": "naïve \u0000 '\"\n",
    "t": "2024-02-29T12:00:00.000001+02:00",
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "v": [1, -2.5, 1e-3],
    "lb": [True, False],
    "ld": [0, "2024-01-01"],
    "lf32": [0.5],
    "lf64": [],
    "li32": [-1, 0],
    "li64": [-(2**63)],
    "ls": ["", "a, b"],
    "lt": [1],
    "lu32": [0],
    "lu64": [2**64 - 1],
}
STORED = {
    "id": "full",
    "k": "full",
    "b": True,
    "blob": b"\x00\x01\x02\xff",
    "d": dt.date(1969, 12, 31),
    "e": "x",
    "f32": 0.10000000149011612,
    "f64": 1e-300,
    "i32": -(2**31),
    "i64": 2**63 - 1,
    "s": "naïve \u0000 '\"\n",
    "t": dt.datetime(2024, 2, 29, 10, 0, 0, 1, UTC),
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "v": [1.0, -2.5, 0.0010000000474974513],
    "lb": [True, False],
    "ld": [dt.date(1970, 1, 1), dt.date(2024, 1, 1)],
    "lf32": [0.5],
    "lf64": [],
    "li32": [-1, 0],
    "li64": [-(2**63)],
    "ls": ["", "a, b"],
    "lt": [dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)],
    "lu32": [0],
    "lu64": [2**64 - 1],
}


def every(root: str) -> omnigraph.Graph:
    graph = omnigraph.init(root, EVERYTHING)
    graph.load(ndjson(node("Every", **FULL), node("Every", k="none"), node("Every", k="void",
               blob="base64:", s="", ls=[], lf64=[])))  # fmt: skip
    return graph


def test_every_type_of_value_reads_back_as_it_was_written(root: str) -> None:
    graph = every(root)
    for _ in range(2):
        reader = graph.snapshot()
        assert reader.get("Every", "full") == STORED
        assert reader.get("Every", "none") == dict.fromkeys(STORED) | {"id": "none", "k": "none"}
        scanned = reader.scan("Every").read_all()
        assert scanned.schema == reader.schema("Every")
        assert scanned.schema.names == ["id", *sorted(FULL)]
        graph.optimize()
        graph = omnigraph.open(root)


def test_null_and_empty_stay_apart(root: str) -> None:
    graph = every(root)
    for _ in range(2):
        by_id = {row["id"]: row for row in rows(graph, "Every")}
        for name, empty in (("blob", b""), ("s", ""), ("ls", []), ("lf64", [])):
            assert by_id["void"][name] == empty
            assert by_id["none"][name] is None
        # Another write must carry them along as they are.
        for n in range(12):
            graph.load(ndjson(node("Every", k=f"more{n}")))
        graph.collect(keep=1)
        graph = omnigraph.open(root)


def test_values_survive_being_written_through_arrow(
    root: str, tmp_path_factory: pytest.TempPathFactory
) -> None:  # noqa: E501
    table = every(root).snapshot().scan("Every").read_all()
    copy = omnigraph.init(tmp_path_factory.mktemp("copy") / "graph", EVERYTHING)
    with copy.transaction() as t:
        t.insert("Every", table)
    assert copy.snapshot().scan("Every").read_all().equals(table)


def test_columns_come_in_the_order_asked_for(root: str) -> None:
    graph = boats(root)
    table = graph.snapshot().scan("Boat", ["flag", "id"]).read_all()
    assert table.schema.names == ["flag", "id"]
    assert sorted(table.column("id").to_pylist()) == ["Ada", "Bly", "Cap"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("crew > 2", ["Bly"]),
        ("crew IS NULL", ["Cap"]),
        ("name IN ('Ada', 'Cap') AND flag = 'NL'", ["Cap"]),
        ("name LIKE '%l%'", ["Bly"]),
        ("crew > 100", []),
        ("true", ["Ada", "Bly", "Cap"]),
    ],
)
def test_a_filter_selects_rows_before_and_after_indexing(
    root: str, condition: str, found: Sequence[str]
) -> None:
    graph = boats(root)
    for _ in range(2):
        read = graph.snapshot().scan("Boat", ["id"], condition).read_all()
        assert sorted(read.column("id").to_pylist()) == found
        with graph.transaction() as t:
            read = t.scan("Boat", ["id"], condition).read_all()
        assert sorted(read.column("id").to_pylist()) == found
        graph.optimize()


def test_a_limit_bounds_the_rows(root: str) -> None:
    snapshot = boats(root).snapshot()
    for limit, expected in ((0, 0), (1, 1), (3, 3), (99, 3)):
        assert snapshot.scan("Boat", limit=limit).read_all().num_rows == expected
    assert snapshot.scan("Boat", filter="crew > 1", limit=1).read_all().num_rows == 1


@pytest.mark.parametrize("limit", [-1, 2**70])
def test_an_impossible_limit_is_refused(root: str, limit: int) -> None:
    graph = boats(root)
    refused(graph, InvalidInput, lambda: graph.snapshot().scan("Boat", limit=limit))


@pytest.mark.parametrize(
    "condition",
    ["nosuch = 1", "crew +", "crew", "'a'", "crew = 'x'", "name = 5", "crew IN (SELECT 1)", "("],
)
def test_a_filter_that_cannot_be_applied_is_refused(root: str, condition: str) -> None:
    graph = boats(root)
    error = refused(
        graph, InvalidInput, lambda: graph.snapshot().scan("Boat", filter=condition).read_all()
    )
    assert error.hint
    with graph.transaction() as t, pytest.raises(InvalidInput):
        t.scan("Boat", filter=condition).read_all()


def test_a_filter_that_fails_on_a_row_is_refused(root: str) -> None:
    graph = boats(root)
    condition = "1 / (crew - 2) = 1"
    refused(graph, InvalidInput, lambda: graph.snapshot().scan("Boat", filter=condition).read_all())
    with graph.transaction() as t, pytest.raises(InvalidInput):
        t.scan("Boat", filter=condition).read_all()


def test_unknown_names_are_not_found_and_similar_ones_are_offered(root: str) -> None:
    graph = boats(root)
    snapshot = graph.snapshot()
    with pytest.raises(NotFound, match="did you mean 'Boat'"):
        snapshot.scan("Baot")
    with pytest.raises(NotFound, match="did you mean 'crew'"):
        snapshot.scan("Boat", ["crwe"])
    for action in (
        lambda: snapshot.count("Ship"),
        lambda: snapshot.get("Ship", "x"),
        lambda: snapshot.schema("Ship"),
        lambda: snapshot.scan("node:Tows"),
        lambda: snapshot.scan("edge:Boat"),
        lambda: snapshot.scan("Boat", ["src"]),
        lambda: snapshot.scan("Boat", ["_rowid"]),
    ):
        refused(graph, NotFound, action)
    with graph.transaction() as t:
        for inside in (
            lambda: t.scan("Ship"),
            lambda: t.scan("Boat", ["crwe"]),
            lambda: t.insert("Ship", [{"name": "x"}]),
            lambda: t.delete("Ship", ["x"]),
        ):
            with pytest.raises(NotFound):
                inside()


@pytest.mark.parametrize("columns", [[], ["id", "id"], ["crew", "id", "crew"]])
def test_a_senseless_choice_of_columns_is_refused(root: str, columns: list[str]) -> None:
    graph = boats(root)
    refused(graph, InvalidInput, lambda: graph.snapshot().scan("Boat", columns))
    with graph.transaction() as t, pytest.raises(InvalidInput):
        t.scan("Boat", columns)


def test_edge_names_ignore_case_and_node_names_do_not(root: str) -> None:
    snapshot = boats(root).snapshot()
    assert snapshot.count("meets") == snapshot.count("edge:MEETS") == 1
    with pytest.raises(NotFound):
        snapshot.count("boat")


def test_a_name_of_a_node_and_an_edge_must_say_which(root: str) -> None:
    graph = omnigraph.init(root, "node Ship { n: String @key } edge Ship: Ship -> Ship")
    graph.load(ndjson(node("Ship", n="a"), edge("Ship", "a", "a", id="e")))
    assert (ids(graph, "node:Ship"), ids(graph, "edge:Ship")) == (["a"], ["e"])
    assert refused(graph, InvalidInput, lambda: graph.snapshot().count("Ship")).hint


def test_single_entities_are_found_by_exact_id(root: str) -> None:
    graph = boats(root)
    graph.load(ndjson(node("Boat", name='it\'s "x" \\ ü')))
    snapshot = graph.snapshot()
    assert snapshot.get("Boat", "Bly") == {"id": "Bly", "crew": 3, "flag": None, "name": "Bly",
                                           "reg": None}  # fmt: skip
    assert snapshot.get("Meets", "m1") == {"id": "m1", "src": "Bly", "dst": "Cap"}
    found = snapshot.get("Boat", 'it\'s "x" \\ ü')
    assert found is not None and found["name"] == 'it\'s "x" \\ ü'
    for missing in ("", "ada", "Ada ", "' OR 1=1 --", "m1"):
        assert snapshot.get("Boat", missing) is None


def test_counts_follow_the_moment(root: str) -> None:
    graph = boats(root)
    graph.load(ndjson(node("Boat", name="Dot")))
    assert [graph.snapshot(f"main@v{v}").count("Boat") for v in (1, 2, 3)] == [0, 3, 4]


def test_a_reader_streams_and_is_not_disturbed_by_later_commits(root: str) -> None:
    graph = omnigraph.init(root, "node N { n: I64 @key }")
    with graph.transaction() as t:
        t.insert("N", pa.table({"n": pa.array(range(200_000), pa.int64())}))
    reader = graph.snapshot().scan("N", ["n"])
    first = reader.read_next_batch()
    assert 0 < first.num_rows < 200_000
    graph.load(ndjson(node("N", n=-1)), mode="overwrite")
    seen = sorted(first.column("n").to_pylist() + reader.read_all().column("n").to_pylist())
    assert seen == list(range(200_000))
    assert graph.snapshot().count("N") == 1


def test_a_snapshot_stays_at_its_commit(root: str) -> None:
    graph = boats(root)
    snapshot = graph.snapshot()
    graph.load(ndjson(node("Boat", name="Dot")))
    assert snapshot.count("Boat") == snapshot.scan("Boat").read_all().num_rows == 3
    assert snapshot.commit == graph.commits()[1].id
    assert graph.snapshot().count("Boat") == 4


# --------------------------------------------------------------------------- transactions


def seen(t: omnigraph.Transaction, type_name: str) -> list[str]:
    return sorted(t.scan(type_name, ["id"]).read_all().column("id").to_pylist())


def test_a_transaction_reads_its_own_writes_and_nobody_else_does(root: str) -> None:
    graph = boats(root)
    before = contents(graph)
    with graph.transaction() as t:
        assert seen(t, "Boat") == ["Ada", "Bly", "Cap"]
        t.insert("Boat", [{"name": "Dot", "crew": 7}])
        assert seen(t, "Boat") == ["Ada", "Bly", "Cap", "Dot"]
        t.upsert("Boat", [{"name": "Dot", "crew": 8}, {"name": "Ada", "crew": 9}])
        crew = t.scan("Boat", ["crew"], "name IN ('Ada', 'Dot')").read_all()
        assert sorted(crew.column("crew").to_pylist()) == [8, 9]
        t.delete("Boat", ["Dot", "nobody"])
        assert seen(t, "Boat") == ["Ada", "Bly", "Cap"]
        t.insert("Boat", [{"name": "Dot"}])
        t.overwrite("Meets", [{"id": "m2", "src": "Dot", "dst": "Ada"}])
        assert seen(t, "Meets") == ["m2"]
        assert contents(graph) == before
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]
    assert rows(graph, "Meets") == [{"id": "m2", "src": "Dot", "dst": "Ada"}]
    assert t.commit is not None and t.commit.changed == ("edge:Meets", "node:Boat")


def test_an_aborted_transaction_leaves_nothing(root: str) -> None:
    graph = boats(root)

    def broken() -> None:
        with graph.transaction() as t:
            t.insert("Boat", [{"name": "Dot"}])
            t.delete("Boat", ["Ada"])
            assert seen(t, "Boat") == ["Bly", "Cap", "Dot"]
            raise InvalidInput("changed my mind")

    refused(graph, InvalidInput, broken)
    assert graph.verify(rules=True).ok


def test_a_transaction_that_changes_nothing_commits_nothing(root: str) -> None:
    graph = boats(root)
    head = graph.commits()[0].id
    for work in (
        lambda t: None,
        lambda t: t.delete("Boat", ["nobody"]),
        lambda t: t.delete("Boat", []),
        lambda t: t.insert("Boat", []),
        lambda t: seen(t, "Boat"),
    ):
        with graph.transaction() as t:
            work(t)
        assert t.commit is None
    assert graph.commits()[0].id == head


def test_a_finished_transaction_takes_no_more_work(root: str) -> None:
    graph = boats(root)
    with graph.transaction() as t:
        t.insert("Boat", [{"name": "Dot"}])
    for action in (
        lambda: t.insert("Boat", [{"name": "Eel"}]),
        lambda: t.delete("Boat", ["Ada"]),
        lambda: t.scan("Boat"),
        lambda: t.overwrite("Boat", []),
    ):
        assert refused(graph, InvalidInput, action).hint


@pytest.mark.parametrize("wanted", [[1, 2], "Ada", [None], [b"\xff"], pa.array([1]), [["Ada"]]])
def test_ids_to_delete_must_be_texts(root: str, wanted: Any) -> None:  # noqa: ANN401
    graph = boats(root)

    def attempt() -> None:
        with graph.transaction() as t:
            t.delete("Boat", wanted)

    refused(graph, OmniGraphError, attempt)


def test_ids_to_delete_come_in_any_arrow_form(root: str) -> None:
    for n, wanted in enumerate(
        (
            pa.array(["Ada"]),
            pa.chunked_array([["Ada"], ["nobody"]]),
            pa.array(["Ada"], pa.large_string()),
            ("Ada",),
            {"Ada"},
        )
    ):
        graph = boats(f"{root}{n}")
        with graph.transaction() as t:
            t.delete("Boat", wanted)
        assert ids(graph, "Boat") == ["Bly", "Cap"]


def test_deleting_a_node_takes_its_edges_of_both_ends_along(root: str) -> None:
    graph = boats(root)
    graph.load(ndjson(edge("Tows", "Cap", "Ada", id="t1"), edge("Meets", "Ada", "Bly", id="m2")))
    with graph.transaction() as t:
        t.delete("Boat", ["Cap"])
    assert ids(graph, "Boat") == ["Ada", "Bly"]
    assert (ids(graph, "Meets"), ids(graph, "Tows")) == (["m2"], [])
    assert graph.verify(rules=True).ok


def test_without_cascade_an_edge_in_the_way_is_an_error(root: str) -> None:
    graph = boats(root)

    def attempt() -> None:
        with graph.transaction() as t:
            t.delete("Boat", ["Cap"], cascade=False)

    error = refused(graph, InvalidInput, attempt)
    assert error.details["violation"]["missing_id"] == "Cap"


def test_deleting_a_node_that_is_not_there_takes_nothing_along(root: str) -> None:
    graph = boats(root)

    def attempt() -> None:
        with graph.transaction() as t:
            t.delete("Boat", ["nobody"])
            t.insert("Meets", [{"src": "Ada", "dst": "nobody"}])

    error = refused(graph, InvalidInput, attempt)
    assert error.details["violation"]["missing_id"] == "nobody"


def test_an_edge_to_a_node_that_the_same_transaction_deletes_is_refused(root: str) -> None:
    graph = omnigraph.init(root, "node P { name: String @key }\nedge K: P -> P")
    graph.load(ndjson(node("P", name="a"), node("P", name="b"), edge("K", "a", "b", id="k1")))

    def contradictory() -> None:
        with graph.transaction() as txn:
            txn.delete("P", ["b"])
            txn.insert("K", [{"id": "k2", "src": "a", "dst": "b"}])

    error = refused(graph, ConstraintViolation, contradictory)
    assert error.notation == "endpoint(K.dst = b)"


def test_days_and_times_beyond_the_calendar_of_python_are_numbers(root: str) -> None:
    graph = omnigraph.init(root, "node Z { k: String @key  d: Date?  t: DateTime?  l: [Date]? }")
    data = {"k": "far", "d": 259_200_005, "t": 2**63 - 1, "l": [19_723, -719_163]}
    graph.load(json.dumps({"type": "Z", "data": data}).encode())
    near = dt.date(2024, 1, 1)
    assert graph.snapshot().get("Z", "far") == {"id": "far"} | data | {"l": [near, -719_163]}
    (row,) = graph.query("query q() { match { $z: Z } return { $z.d, $z.t } }").rows()
    assert row == {"z.d": 259_200_005, "z.t": str(2**63 - 1)}
