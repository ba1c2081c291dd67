"""Every block of docs/sql.md runs as it is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from omnigraph_sql.cli import run_text

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
_BLOCK = re.compile(r"```(python|sql)\n(.*?)```(?:\n```text\n(.*?)```)?", re.S)


def test_the_page_runs_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from omnigraph.cli.result_output import write_result
    from omnigraph.exec.run.query_result import QueryResult

    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    assert len([shown for _, _, shown in blocks if shown]) >= 7
    for kind, body, shown in blocks:
        if kind == "python":
            exec(compile(body, str(PAGE), "exec"), known)
            capsysbinary.readouterr()
            continue
        dialect = "snowflake" if "DATEDIFF(" in body else "postgres"
        result = run_text(known["g"], "main", body, None, dialect)
        assert isinstance(result, QueryResult)
        write_result(result, "table")
        assert capsysbinary.readouterr().out.decode() == shown
