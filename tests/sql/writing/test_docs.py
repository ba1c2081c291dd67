"""The page about writing with SQL says what is true: its examples run, in order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "writing-sql.md"
BLOCK = re.compile(r"```(python|sql)\n(.*?)```", re.S)


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) > 5
    for language, text in blocks:
        if language == "python":
            exec(text, known)
        else:
            for statement in filter(None, (part.strip() for part in text.split(";"))):
                known["session"].execute(statement)
    graph = known["g"]
    assert [table.name for table in graph.tables()] == [
        "public.seeds",
        "shop.before",
        "shop.sales",
    ]
    assert graph.snapshot().plain_table("shop.sales").rows == 2
    assert graph.snapshot().count("Port") == 2
    assert graph.snapshot().count("Calls") == 2
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.verify(rules=True).ok
