"""Search and embedding know columns and texts; the graph and its store are others' business."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[3] / "engine" / "omnigraph"
ALLOWED = {
    "exec/search": (
        "numpy",
        "pyarrow",
        "Stemmer",
        "omnigraph.errors",
        "omnigraph.common",
        "omnigraph.exec.search",
    ),
    "embedding": ("numpy", "omnigraph.errors", "omnigraph.embedding"),
}
STANDARD = {"__future__", "collections", "dataclasses", "functools", "itertools", "typing"}
STANDARD |= {"unicodedata", "json", "ssl", "time", "http", "urllib", "os"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name for name in found if name.split(".")[0] not in STANDARD}


@pytest.mark.parametrize("package", ALLOWED)
def test_only_what_they_say(package: str) -> None:
    files = sorted((ENGINE / package).rglob("*.py"))
    assert files
    for path in files:
        for name in imported(path):
            assert name.startswith(ALLOWED[package]), (path.name, name)
