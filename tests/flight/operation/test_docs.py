"""docs/flight.md shows the command as it is, and a configuration that is read.

`python tests/flight/operation/test_docs.py` brings the shown help up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from omnigraph_flight.access.policies import Policies
from omnigraph_flight.cli import serve
from omnigraph_flight.config import read_config

PAGE = Path(__file__).parents[3] / "docs" / "flight.md"
_HELP = re.compile(r"(<!-- help -->\n).*?(<!-- /help -->)", re.S)


def with_help(page: str) -> str:
    context = click.Context(serve, info_name="omnigraph serve", terminal_width=78)
    return _HELP.sub(
        lambda found: f"{found[1]}```text\n{context.get_help()}\n```\n{found[2]}", page
    )


def test_the_page_shows_the_options() -> None:
    page = PAGE.read_text("utf-8")
    assert with_help(page) == page


def test_the_configuration_on_the_page_is_read(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    toml = re.search(r"```toml\n(.*?)```", page, re.S)
    policies = re.search(r"```\n(permit.*?)```", page, re.S)
    assert toml is not None
    assert policies is not None
    (tmp_path / "policies.cedar").write_text(policies[1])
    (tmp_path / "server.toml").write_text(toml[1].replace('"…"', f'"{"0" * 64}"'))
    config = read_config(tmp_path / "server.toml").checked()
    assert [user.name for user in config.users] == ["ada"]
    assert config.limits.statements_per_user == 32
    Policies(config.policies)


if __name__ == "__main__":
    PAGE.write_text(with_help(PAGE.read_text("utf-8")), "utf-8")
