"""The compiler stays a compiler: no storage, no engine, no transport."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import omnigraph.query

FOLDER = Path(omnigraph.query.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
ARROW_HOME = FOLDER / "logical/result_schema.py"
ALLOWED = {
    "lark",
    "omnigraph.errors",
    "omnigraph.common.grammar",
    "omnigraph.common.lexical",
    "omnigraph.query",
    "omnigraph.schema",
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_the_module_that_knows_arrow_is_there() -> None:
    assert ARROW_HOME in FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_imports_only_what_a_compiler_needs(path: Path) -> None:
    allowed = ALLOWED | ({"pyarrow"} if path == ARROW_HOME else set())
    for name in imported(path):
        top = name.split(".")[0]
        first_two = ".".join(name.split(".")[: 3 if name.startswith("omnigraph.common") else 2])
        assert top in sys.stdlib_module_names or first_two in allowed or top in allowed, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_module_fits_in_the_head(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 400
