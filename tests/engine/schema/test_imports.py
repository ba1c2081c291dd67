"""The compiler stays free of storage and query engines."""

from __future__ import annotations

import ast
from pathlib import Path

import omnigraph.schema

FOLDER = Path(omnigraph.schema.__file__).parent
ENGINES = {"lance", "lancedb", "datafusion", "flight", "adbc_driver_flightsql"}
FILES = sorted(FOLDER.rglob("*.py"))
ARROW_HOMES = {FOLDER / "model/arrow_schema.py", FOLDER / "model/entity_ids.py"}

SHARED = {"omnigraph.errors"} | {
    f"omnigraph.common.{name}" for name in ("arrow_to_json", "grammar", "lexical", "ulid")
}


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for statement in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            found.add(statement.module or "")
    return found


def test_only_two_modules_know_arrow_and_none_an_engine() -> None:
    assert set(FILES) > ARROW_HOMES
    for path in FILES:
        names = imported(path)
        tops = {name.split(".")[0] for name in names}
        assert not tops & ENGINES, path.name
        assert "pyarrow" not in tops or path in ARROW_HOMES, path
        inside = {name for name in names if name.startswith("omnigraph")}
        own = {name for name in inside if name.startswith("omnigraph.schema")}
        assert inside - own <= SHARED, path
