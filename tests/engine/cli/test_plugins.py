"""Other distributions add commands; a broken one harms nobody but itself."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from engine.cli.conftest import Cli

WORKING = '''
import click
from omnigraph.cli.command import command, pass_invocation

@command("count", example="omnigraph count")
@pass_invocation
def count(invocation):
    """Count branches."""
    click.echo(f"{len(invocation.graph().branches())} {invocation.json}")

plain = click.Command("plain", callback=lambda: click.echo("plain"), help="A plain command.")
'''


@pytest.fixture
def plugins(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Commands of an installed distribution: two that work and three that cannot."""
    site = cli.folder / "site"
    info = site / "extras-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extras\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[omnigraph.commands]\n"
        "count = extras_plugin:count\n"
        "plain = extras_plugin:plain\n"
        "broken = extras_broken:command\n"
        "gone = extras_gone:command\n"
        "odd = extras_plugin:WORDS\n"
        "load = extras_plugin:plain\n"
    )
    (site / "extras_plugin.py").write_text(WORKING + "\nWORDS = 'not a command'\n")
    (site / "extras_broken.py").write_text("raise RuntimeError('half installed')\n")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    return cli


def test_a_plugin_runs_with_the_shared_options(plugins: Cli) -> None:
    assert plugins.ok("count").out == "1 False\n"
    assert plugins.ok("--json", "count", "--store", str(plugins.store)).out == "1 True\n"
    assert plugins.ok("plain").out == "plain\n"
    assert "Example:\n  omnigraph count" in plugins.ok("count", "--help").out


def test_help_lists_plugins_and_notes_what_is_broken(plugins: Cli) -> None:
    shown = plugins.ok("--help").out
    assert "count     Count branches." in shown
    assert "broken    (cannot be loaded: RuntimeError, from extras)" in shown
    assert "gone      (cannot be loaded: ModuleNotFoundError, from extras)" in shown
    assert "odd       (cannot be loaded: TypeError, from extras)" in shown


def test_a_broken_plugin_says_so_when_it_is_run(plugins: Cli) -> None:
    outcome = plugins("broken", "--any", "thing")
    assert outcome.code == 2
    assert "half installed" in outcome.err
    assert "Traceback" not in outcome.err


def test_our_own_commands_cannot_be_taken_over_or_harmed(plugins: Cli) -> None:
    Path("more.ndjson").write_text("")
    assert plugins.ok("load", "more.ndjson").out.startswith("Loaded 0 entities")
    plugins.ok("branch", "list")
