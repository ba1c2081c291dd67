"""`omnigraph export` writes what `omnigraph load` reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

from engine.cli.conftest import Cli


def test_writes_ndjson_to_stdout(cli: Cli) -> None:
    lines = cli.ok("export").out.splitlines()
    assert [json.loads(line).get("type", "edge") for line in lines] == ["edge", "Person", "Person"]
    assert cli.ok("export", "--json").out.splitlines() == lines


def test_comes_back_the_same(cli: Cli) -> None:
    text = cli.ok("export").out
    cli.ok("init", "social.pg", "copy.omni")
    cli.ok("load", "--store", "copy.omni", stdin=text)
    assert cli.ok("export", "--store", "copy.omni").out == text


def test_one_type_at_a_moment_to_a_file(cli: Cli) -> None:
    cli.ok("load", stdin='{"type":"Person","data":{"name":"cy"}}')
    outcome = cli.ok("export", "--type", "Person", "--at", "main@v2", "-o", "people.out")
    assert outcome.out == "Exported 2 entities to people.out.\n"
    assert len(Path("people.out").read_text().splitlines()) == 2
    outcome = cli.ok("export", "--output", "all.out", "--json")
    assert outcome.json == {"file": "all.out", "entities": 4}


def test_the_file_has_the_permissions_of_any_new_file(cli: Cli) -> None:
    cli.ok("export", "-o", "all.out")
    Path("other").touch()
    assert os.stat("all.out").st_mode == os.stat("other").st_mode


def test_a_failure_leaves_the_old_file_and_no_other(cli: Cli) -> None:
    Path("people.out").write_text("precious")
    before = sorted(os.listdir())
    assert cli("export", "--type", "Nobody", "-o", "people.out").code == 3
    assert Path("people.out").read_text() == "precious"
    assert sorted(os.listdir()) == before


def test_a_place_that_cannot_be_written_is_a_bad_input(cli: Cli) -> None:
    assert cli("export", "-o", "nowhere/people.out").code == 2
    assert cli("export", "-o", ".").code == 2


def test_a_device_is_written_and_not_replaced(cli: Cli) -> None:
    cli.ok("export", "-o", "/dev/null")
    assert not Path("/dev/null").is_file()
