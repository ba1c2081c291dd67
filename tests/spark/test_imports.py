"""What the package may import: the engine and ADBC, never the server, the SQL facade or Lance."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "spark_pipeline"
FORBIDDEN = ("omnigraph_flight", "omnigraph_sql", "lance", "datafusion")


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name.partition(".")[0] for name in found}


FILES = sorted(PACKAGE.rglob("*.py"))


def test_the_package_goes_through_the_engine() -> None:
    assert FILES
    wrong = {
        str(path.relative_to(PACKAGE)): sorted(imported(path) & set(FORBIDDEN)) for path in FILES
    }
    assert {path: names for path, names in wrong.items() if names} == {}


def test_modules_stay_readable() -> None:
    lines = {path.name: len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > 400} == {}
