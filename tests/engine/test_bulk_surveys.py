"""A bulk job says the same of its rows whether the engine or a survey looks for what is wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.bulk import Survey, Target, Texts, write_rows
from omnigraph.errors import ConstraintViolation, OmniGraphError
from omnigraph.storage.constraints.distributed_protocol import read_keys
from omnigraph.storage.constraints.partitioned_check import PartitionedChecker
from omnigraph.storage.core.row_addresses import Addresses
from omnigraph.storage.transaction import bulk_job

SCHEMA = """
node Person { name: String @key  mail: String?  n: I32?  @unique(mail)  @unique(n, mail) }
node Thing { label: String? @unique }
edge Knows: Person -> Person @card(1..2) { since: I32? }
edge Owns: Person -> Thing { n: I32?  @unique(n) }
"""


class PlainSurvey:
    """Answers by the words of the questions, one row after the other."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.asked = 0

    def _rows(self, texts: Texts) -> list[tuple[str, int]]:
        self.asked += 1
        found = [
            row
            for part in self._graph.text_slices(texts, 2)
            for batch in read_keys(part, texts)
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
            if row[0] is not None
        ]
        return sorted(found, key=lambda row: row[1])

    def _counts(self, texts: Texts) -> Counter[str]:
        return Counter(text for text, _ in self._rows(texts))

    def first_repeated(self, texts: Texts) -> str | None:
        counts = self._counts(texts)
        return next((text for text, _ in self._rows(texts) if counts[text] > 1), None)

    def least_repeated(self, texts: Texts) -> str | None:
        return min((text for text, n in self._counts(texts).items() if n > 1), default=None)

    def earlier(self, texts: Texts) -> Addresses:
        last = dict(self._rows(texts))
        return _addresses(at for text, at in self._rows(texts) if at < last[text])

    def least_common(self, texts: Texts, others: Texts) -> str | None:
        return min(set(self._counts(texts)) & set(self._counts(others)), default=None)

    def common(self, texts: Texts, others: Texts) -> Addresses:
        held = set(self._counts(others))
        return _addresses(at for text, at in self._rows(texts) if text in held)

    def least_missing(self, texts: Texts, others: Texts) -> str | None:
        return min(set(self._counts(texts)) - set(self._counts(others)), default=None)

    def least_above(self, texts: Texts, among: Texts, bound: int) -> str | None:
        counts = self._counts(texts)
        return min((text for text in self._counts(among) if counts[text] > bound), default=None)

    def least_below(
        self, texts: Texts, before: Texts, among: Texts, within: Texts, bound: int
    ) -> str | None:
        counts, had, there = self._counts(texts), self._counts(before), self._counts(within)
        touched = set(self._counts(among)) | {text for text in had if had[text] > counts[text]}
        return min((t for t in touched if t in there and counts[t] < bound), default=None)


def _addresses(found: Any) -> Addresses:  # noqa: ANN401
    return np.array(list(found), np.uint64)


NAMES = st.sampled_from(["a", "b", "c", "d"])
SOME = st.sampled_from(["m1", "m2", "m3", None])
NUMBERS = st.sampled_from([1, 2, None])
ROWS = {
    "node:Person": st.fixed_dictionaries({"name": NAMES, "mail": SOME, "n": NUMBERS}),
    "node:Thing": st.fixed_dictionaries({"id": st.sampled_from(["t1", "t2", "t3"]), "label": SOME}),
    "edge:Knows": st.fixed_dictionaries(
        {"id": st.sampled_from(["e1", "e2", "e3", "e4"]), "src": NAMES, "dst": NAMES}
    ),
    "edge:Owns": st.fixed_dictionaries(
        {"id": st.sampled_from(["o1", "o2"]), "src": NAMES, "dst": st.just("t1"), "n": NUMBERS}
    ),
}
SCHEMAS = {
    "node:Person": pa.schema([("name", pa.string()), ("mail", pa.string()), ("n", pa.int32())]),
    "node:Thing": pa.schema([("id", pa.string()), ("label", pa.string())]),
    "edge:Knows": pa.schema([(name, pa.string()) for name in ("id", "src", "dst")]),
    "edge:Owns": pa.schema(
        [*((name, pa.string()) for name in ("id", "src", "dst")), ("n", pa.int32())]
    ),
}
MODES = st.sampled_from(["append", "merge", "overwrite"])
Step = dict[str, tuple[Any, list[list[dict[str, Any]]]]]


def steps() -> st.SearchStrategy[list[Step]]:
    tables = {
        key: st.tuples(MODES, st.lists(st.lists(rows, max_size=3), max_size=2))
        for key, rows in ROWS.items()
    }
    step = st.fixed_dictionaries({}, optional=tables).filter(bool)
    return st.lists(step, min_size=1, max_size=4)  # type: ignore[arg-type]


def outcome(graph: Graph, step: Step, survey: Survey | None) -> Any:  # noqa: ANN401
    """What a job gives: an error and its facts, or what is there afterwards."""
    job = graph.begin_bulk([Target(key, mode) for key, (mode, _) in step.items()])
    files = [
        write_rows(job, key, pa.Table.from_pylist(rows, SCHEMAS[key]).to_reader())
        for key, (_, parts) in step.items()
        for rows in parts
    ]
    try:
        graph.finish_bulk(job, files, survey=survey)
    except OmniGraphError as error:
        return type(error), str(error), error.details
    snapshot = graph.snapshot()
    return {
        key: sorted(map(repr, snapshot.scan(key.partition(":")[2]).read_all().to_pylist()))
        for key in ROWS
    }


@given(steps())
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_survey_and_the_engine_agree_on_every_outcome(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[Step]
) -> None:
    folder = tmp_path_factory.mktemp("surveyed")
    names = ("engine", "survey", "parts")
    ours, theirs, parted = (omnigraph.init(folder / name, SCHEMA) for name in names)
    for graph in (ours, theirs, parted):
        graph.load(
            {"Person": pa.table({"name": ["a", "b", "c"]}), "Thing": pa.table({"id": ["t1"]})}
        )
    survey = PlainSurvey(theirs)
    store = parted._store
    in_parts = PartitionedChecker(store.tables, store.root, store.options, part_rows=2)
    for step in jobs:
        found = outcome(ours, step, None)
        assert outcome(theirs, step, survey) == found
        assert outcome(parted, step, in_parts) == found
    assert theirs.verify(rules=True).ok and parted.verify(rules=True).ok


def test_many_rows_with_rules_are_validated_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if whoever ends the job has nobody to ask."""
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)
    graph.load({"Person": pa.table({"name": ["ada"], "mail": ["a@x"]})})
    asked: list[tuple[str, ...]] = []
    repeated = PartitionedChecker.least_repeated

    def noted(survey: PartitionedChecker, texts: Texts) -> str | None:
        asked.append(texts.members)
        return repeated(survey, texts)

    def write(**mails: str) -> None:
        job = graph.begin_bulk([Target("node:Person")])
        rows = pa.table({"name": list(mails), "mail": list(mails.values())})
        graph.finish_bulk(job, [write_rows(job, "node:Person", rows.to_reader())])

    monkeypatch.setattr(PartitionedChecker, "least_repeated", noted)
    monkeypatch.setattr(bulk_job, "MANY_ROWS", 1)
    write(bob="b@x")
    assert asked == []
    write(cy="c@x", dot="d@x")
    assert sorted(asked) == [("mail",), ("mail", "n")]
    with pytest.raises(ConstraintViolation, match="a@x"):
        write(eve="e@x", fay="a@x")
    assert graph.snapshot().count("Person") == 4


def test_a_survey_is_asked_again_when_somebody_else_was_faster(tmp_path: Path) -> None:
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)

    class Disturbed(PlainSurvey):
        """While it looks for ids for the first time, another writer takes one of them."""

        def first_repeated(self, texts: Texts) -> str | None:
            if not self.asked:
                omnigraph.open(graph.uri).load(b'{"type":"Person","data":{"name":"ada"}}')
            return super().first_repeated(texts)

    job = graph.begin_bulk([Target("node:Person")])
    files = write_rows(job, "node:Person", pa.table({"name": ["ada"]}).to_reader())
    with pytest.raises(omnigraph.errors.KeyConflict, match="ada"):
        graph.finish_bulk(job, [files], survey=Disturbed(graph))
    assert graph.snapshot().count("Person") == 1
