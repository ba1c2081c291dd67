"""What the documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_PATH = re.compile(r"`((?:tests|engine|docs|examples|benchmarks)/[A-Za-z0-9_./-]+)`")
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_named_in_a_document_exists(document: Path) -> None:
    text = document.read_text("utf-8")
    named = [ROOT / found for found in _PATH.findall(text)]
    linked = [document.parent / found for found in _LINK.findall(text)]
    assert [path for path in named + linked if not path.exists()] == []


def test_every_promise_names_a_test() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
    promises = re.findall(r"^\| (?!promise|---)(.*) \|$", text, re.MULTILINE)
    assert len(promises) > 20
    assert [promise for promise in promises if "`tests/" not in promise.split(" | ")[-1]] == []
