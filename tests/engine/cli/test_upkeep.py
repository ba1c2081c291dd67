"""`omnigraph optimize`, `collect` and `verify`."""

from __future__ import annotations

import re

from engine.cli.conftest import Cli


def test_optimize_publishes_once(cli: Cli) -> None:
    cli.ok("load", stdin='{"type":"Person","data":{"name":"cy"}}')
    outcome = cli.ok("optimize")
    assert "node:Person" in outcome.out
    assert outcome.out.splitlines()[-1] == f"Published in commit {cli.head()} (v4)."
    assert cli.ok("optimize").out == "Every table is optimized already.\n"
    assert cli.ok("optimize", "--json").json == {
        "dry_run": False,
        "tables": {},
        "gave_way": [],
        "commit": None,
    }
    assert cli("optimize", "--branch", "nowhere").code == 3


def test_optimize_says_what_it_would_do(cli: Cli) -> None:
    cli.ok("load", stdin='{"type":"Person","data":{"name":"cy"}}')
    head = cli.head()
    said = cli.ok("optimize", "--dry-run")
    assert said.out.splitlines()[-1] == "Dry run: nothing was changed."
    would = cli.ok("optimize", "--dry-run", "--json").json
    assert (would["dry_run"], would["commit"], cli.head()) == (True, None, head)
    assert would["tables"] == cli.ok("optimize", "--json").json["tables"]
    assert cli.head() != head


def test_collect_keeps_what_it_is_told_to(cli: Cli) -> None:
    cli.ok("load", "people.ndjson", "--mode", "overwrite")
    would = cli.ok("collect", "--keep", "1", "--dry-run", "--json").json
    assert would["dry_run"] is True
    assert would["files"] > 0
    assert cli.ok("snapshot", "Person", "--at", "main@v2", "--json").json["row_count"] == 2
    assert cli.ok("collect", "--keep", "1").out.startswith("Deleted ")
    assert cli("snapshot", "Person", "--at", "main@v2", "--json").error["code"] == "reclaimed"
    assert cli.ok("snapshot", "Person", "--json").json["row_count"] == 2


def test_collect_says_what_it_would_do(cli: Cli) -> None:
    assert cli.ok("collect", "--dry-run").out.startswith("Would delete ")
    assert cli("collect", "--keep", "0").code == 2
    assert cli("collect", "--keep", "many").code == 2


def test_collect_says_what_it_frees_and_gives_up(cli: Cli) -> None:
    first = cli.head()
    cli.ok("load", "people.ndjson", "--mode", "overwrite")
    cli.ok("branch", "create", "over", "--ttl", "0s")
    would = cli.ok("collect", "--keep", "1", "--keep-for", "0s", "--dry-run", "--json").json
    assert first in would["given_up"]
    assert would["expired_branches"] == ["over"]
    assert would["tables"]["node:Person"]["files"] > 0
    said = cli.ok("collect", "--keep", "1", "--dry-run").out
    assert f"Would reclaim 2 commits: {first} (v2)" in said
    assert "Would reclaim branches whose time to live is over: over.\n" in said
    assert re.search(r"^node:Person +\d+ ", said, re.M)
    cli.ok("tag", "create", "kept", "--at", "main@v2")
    assert "Reclaimed 1 commit: " in cli.ok("collect", "--keep", "1").out
    assert cli.ok("snapshot", "--at", "kept", "--json").json["graph_commit_id"] == first
    assert cli("collect", "--keep-for", "soon").code == 2


def test_verify_is_content_with_a_sound_graph(cli: Cli) -> None:
    assert cli.ok("verify").out.endswith("all is well.\n")
    assert cli.ok("verify", "--json").json["ok"] is True


def test_verify_exits_with_5_when_it_finds_anything(cli: Cli) -> None:
    for file in (cli.store / "nodes").glob("*/data/*"):
        file.unlink()
    outcome = cli("verify")
    assert (outcome.code, outcome.err) == (5, "")
    assert "files are missing" in outcome.out
    assert re.search(r": [1-9]\d* problems?\.$", outcome.out.splitlines()[-1])
    outcome = cli("verify", "--json")
    assert outcome.code == 5
    assert outcome.json["findings"][0]["where"].startswith("node:Person")
