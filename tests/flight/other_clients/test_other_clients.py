"""Clients of other makers, which `make test-clients` installs; docs/flight.md has the matrix.

What each of them is seen to do must be what its row in the matrix says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from omnigraph_flight.running import Server

HERE = Path(__file__).parent
DOCS = Path(__file__).parents[3] / "docs" / "flight.md"
INSTALLED = "OMNIGRAPH_CLIENTS"
"""Names the folder in which `make test-clients` installs them."""

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(INSTALLED not in os.environ, reason="`make test-clients` installs them"),
]


@pytest.mark.parametrize(
    ("client", "script"),
    [
        ("SQLAlchemy (flightsql-dbapi)", "sqlalchemy_client.py"),
        ("npm @lancedb/arrow-flight-sql-client", "lancedb_client.mjs"),
        ("npm @lakehouse-rs/flight-sql-client", "lakehouse_client.mjs"),
    ],
)
def test_a_client_does_what_the_matrix_says(server: Server, client: str, script: str) -> None:
    folder = Path(os.environ[INSTALLED])
    program = str(folder / "python" / "bin" / "python") if script.endswith(".py") else "node"
    placed = folder / script  # where node finds its modules
    placed.write_text((HERE / script).read_text())
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [program, str(placed), server.uri.removeprefix("grpc://")],
        capture_output=True,
        text=True,
        timeout=120,
        env=plain,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert set(json.loads(done.stdout)) == matrix()[client]


def matrix() -> dict[str, set[str]]:
    """The features of each client in the documentation."""
    table = re.search(r"<!-- matrix -->\n(.*?)<!-- /matrix -->", DOCS.read_text("utf-8"), re.S)
    assert table is not None
    head, _, *body = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table[1].strip().splitlines()
    )
    return {
        row[0]: {name for name, cell in zip(head[1:], row[1:], strict=True) if cell == "yes"}
        for row in body
    }
