"""The walks of docs/design/walks.md are the ones that data take."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.cli import run
from omnigraph_flight import Config, Server
from omnigraph_flight.handlers.call_headers import CallHeadersFactory
from omnigraph_flight.handlers.rpc_server import FlightSqlServer
from support.dbt_projects import a_project

ROOT = Path(__file__).parent.parent
PEOPLE = ROOT / "examples" / "people"
OURS = ("omnigraph", "omnigraph_sql", "omnigraph_flight", "dbt.adapters.omnigraph")
BELOW = ("lance", "datafusion", "obstore")
"""What the layers end at."""


def page() -> dict[str, str]:
    """The sections of the page, by their headings."""
    text = (ROOT / "docs" / "design" / "walks.md").read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    return {section.splitlines()[0]: section for section in sections}


def walks() -> dict[str, list[str]]:
    """The modules of each walk, by the heading it stands under."""
    found = {
        name: re.findall(r"^\d+\. `([a-z_.0-9]+)`", section, flags=re.M)
        for name, section in page().items()
    }
    return {name: modules for name, modules in found.items() if modules}


def longest_chains() -> dict[str, int]:
    """The longest chain that the page states for each walk."""
    rows = re.findall(r"^\| (.+?) \| \d+ \| (\d+) \|", page()["How straight they are"], flags=re.M)
    return {name: int(now) for name, now in rows}


class Calls:
    """The modules whose functions are called, in order, in every thread that is watched."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self.chain: list[str] = []
        """The longest of the chains of modules that led to a call of what lies below."""
        self.watching = True

    def __call__(self, frame: FrameType, event: str, called: object) -> None:
        if not self.watching:
            return
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(OURS):
            if self.modules[-1:] != [module]:
                self.modules.append(module)
        elif event == "call" and module.startswith(BELOW):
            self._leave(frame.f_back)
        elif event == "c_call" and _home(called).startswith(BELOW):
            self._leave(frame)

    def _leave(self, frame: FrameType | None) -> None:
        chain: list[str] = []
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith(OURS):
                chain += [module] if chain[-1:] != [module] else []
            elif not chain:
                return  # one of theirs calls another
            frame = frame.f_back
        if len(chain) > len(self.chain):
            self.chain = chain[::-1]


def _home(function: object) -> str:
    """The module of a function that is not written in Python."""
    owner = getattr(function, "__self__", None)
    return getattr(function, "__module__", None) or type(owner).__module__ or ""


@contextmanager
def watched() -> Iterator[Calls]:
    """Watch this thread, those that Python starts from it, and those in which Flight calls us."""
    calls = Calls()

    def watching(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            sys.setprofile(calls)
            return method(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("get_flight_info", "do_get", "do_put", "do_action"):
            patch.setattr(FlightSqlServer, name, watching(getattr(FlightSqlServer, name)))
        patch.setattr(CallHeadersFactory, "start_call", watching(CallHeadersFactory.start_call))
        threading.setprofile(calls)
        sys.setprofile(calls)
        try:
            yield calls
        finally:
            calls.watching = False
            sys.setprofile(None)
            threading.setprofile(None)


@pytest.fixture
def people(tmp_path: Path) -> str:
    graph = omnigraph.init(tmp_path / "people.omni", PEOPLE / "people.pg")
    graph.load(PEOPLE / "people.jsonl")
    return graph.uri


def load(people: str, tmp_path: Path) -> Calls:  # noqa: ARG001
    empty = omnigraph.init(tmp_path / "empty.omni", PEOPLE / "people.pg").uri
    with watched() as calls:
        assert run(["load", "--store", empty, str(PEOPLE / "people.jsonl")]) == 0
    return calls


def query(people: str, tmp_path: Path) -> Calls:  # noqa: ARG001
    graph = omnigraph.open(people)
    text = (PEOPLE / "people.gq").read_text()
    with watched() as calls:
        assert graph.query(text, "reach", {"name": "Ada"}).to_arrow().num_rows
    return calls


def sql_over_flight(people: str, tmp_path: Path) -> Calls:  # noqa: ARG001
    with (
        Server(Config(graphs={"people": people}, port=0)) as server,
        adbc.connect(server.uri, autocommit=True) as connection,
        connection.cursor() as cursor,
        watched() as calls,
    ):
        # Straight to GetFlightInfo: the cursor's own `execute` prepares the statement before.
        cursor.adbc_statement.set_sql_query("SELECT age, count(*) AS n FROM person GROUP BY age")
        stream, _ = cursor.adbc_statement.execute_query()
        assert pa.RecordBatchReader.from_stream(stream).read_all().num_rows
    return calls


def dbt_run(people: str, tmp_path: Path) -> Calls:
    with Server(Config(graphs={"people": people}, port=0)) as server:
        project = a_project(tmp_path / "dbt", {"ages": "select age from person"}, uri=server.uri)
        with watched() as calls:
            assert project.dbt("run").code == 0
    return calls


def merge(people: str, tmp_path: Path) -> Calls:  # noqa: ARG001
    graph = omnigraph.open(people)
    graph.create_branch("hiring")
    graph.load(PEOPLE / "newcomers.jsonl", branch="hiring")
    with graph.transaction() as transaction:
        transaction.upsert("Person", [{"name": "Zoe", "age": 30}])
    graph = omnigraph.open(people)  # its worker threads begin while they are watched
    with watched() as calls:
        graph.merge("hiring", "main")
    return calls


WALKS: dict[str, Callable[[str, Path], Calls]] = {
    "Load": load,
    "A `.gq` query": query,
    "SQL over Flight": sql_over_flight,
    "`dbt run`": dbt_run,
    "Merge": merge,
}


def test_every_walk_is_tried() -> None:
    assert list(walks()) == list(WALKS)


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_is_the_one_that_data_take(name: str, people: str, tmp_path: Path) -> None:
    modules = walks()[name]
    assert len(set(modules)) == len(modules), "a module is visited twice for one step"
    calls = WALKS[name](people, tmp_path)
    called = iter(calls.modules)
    missed = next((module for module in modules if module not in called), None)
    assert missed is None
    assert len(calls.chain) <= longest_chains()[name], calls.chain
