"""The tree is the architecture: who may import what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "engine" / "omnigraph"
SQL = ROOT / "sql_bridge" / "omnigraph_sql"
FLIGHT = ROOT / "flight_server" / "omnigraph_flight"

FORBIDDEN = {
    "schema": {"lance", "datafusion", "obstore", "omnigraph.storage", "omnigraph.loading"},
    "query": {"lance", "datafusion", "obstore", "omnigraph.storage", "omnigraph.loading"},
    "storage": {"datafusion", "omnigraph.query", "omnigraph.loading", "omnigraph.cli"},
    "loading": {"lance", "datafusion", "obstore", "omnigraph.query", "omnigraph.cli"},
    "branching": {
        "lance",
        "datafusion",
        "obstore",
        "omnigraph.query",
        "omnigraph.exec",
        "omnigraph.loading",
        "omnigraph.cli",
    },
    "exec": {"lance", "obstore", "omnigraph.cli"},
    "embedding": {"lance", "pyarrow", "omnigraph.storage", "omnigraph.query"},
    "cli": {"lance", "datafusion", "obstore"},
}
ARROW_HOMES = {
    "schema": {ENGINE / "schema/model/arrow_schema.py", ENGINE / "schema/model/entity_ids.py"},
    "query": {ENGINE / "query/logical/result_schema.py"},
}
THROUGH_STORAGE = {ENGINE / "loading/load.py", ENGINE / "loading/export_snapshot.py"}
FLIGHT_STATUSES = FLIGHT / "protocol/flight_status.py"
PASSES = SQL / "rewrite"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def modules(package: str) -> list[Path]:
    return sources(ENGINE / package)


def sources(folder: Path) -> list[Path]:
    """The modules below a folder; of none, every rule would hold."""
    found = sorted(folder.rglob("*.py"))
    assert found, folder
    return found


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_only_what_they_may(package: str) -> None:
    wrong = [
        (path.name, name)
        for path in modules(package)
        for name in imports(path)
        for forbidden in FORBIDDEN[package]
        if within(name, forbidden)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ARROW_HOMES)
def test_compilers_meet_arrow_in_one_place(package: str) -> None:
    assert set(modules(package)) > ARROW_HOMES[package]
    wrong = [
        path.name
        for path in modules(package)
        if path not in ARROW_HOMES[package]
        and any(within(name, "pyarrow") for name in imports(path))
    ]
    assert wrong == []


def test_readers_and_writers_of_files_know_no_storage() -> None:
    assert set(modules("loading")) > THROUGH_STORAGE
    wrong = [
        path.name
        for path in modules("loading")
        if path not in THROUGH_STORAGE
        and any(within(name, "omnigraph.storage") for name in imports(path))
    ]
    assert wrong == []


def test_sql_knows_neither_transport_nor_lance() -> None:
    forbidden = ("lance", "obstore", "pyarrow.flight", "omnigraph_flight", "adbc_driver_flightsql")
    wrong = [
        (path.name, name)
        for path in sources(SQL)
        for name in imports(path)
        if any(within(name, package) for package in forbidden)
    ]
    assert wrong == []


def test_the_server_knows_no_engine_underneath() -> None:
    forbidden = ("lance", "obstore", "datafusion", "sqlglot", "adbc_driver_flightsql")
    wrong = [
        (path.name, name)
        for path in sources(FLIGHT)
        for name in imports(path)
        if any(within(name, package) for package in forbidden)
    ]
    assert wrong == []


def test_errors_become_flight_statuses_in_one_place() -> None:
    assert FLIGHT_STATUSES.is_file()
    wrong = [
        path.name
        for path in sources(FLIGHT)
        if path != FLIGHT_STATUSES
        and any(
            isinstance(node, ast.Raise) and "fl.Flight" in ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert wrong == []


def test_passes_of_sql_are_one_function_in_a_file_of_its_name() -> None:
    for path in sources(PASSES):
        tree = ast.parse(path.read_text())
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert path.name == "__init__.py" or path.stem in functions


def test_every_package_says_what_it_promises() -> None:
    found = {path.parent for top in (ENGINE, SQL, FLIGHT) for path in sources(top)}
    for package in sorted(found):
        doc = ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
        assert doc, package.name
        assert len(doc.splitlines()) >= 1


def test_modules_stay_readable() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*sources(ENGINE), *sources(SQL), *sources(FLIGHT)]
        if (lines := len(path.read_text().splitlines())) > 500
    }
    assert long == {}
