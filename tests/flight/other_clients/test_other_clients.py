"""Clients of other makers, which `make test-clients` installs; docs/flight.md has the matrix.

Each client is a program that tries what it can and says what worked. The matrix is written from
what was seen (`make client-matrix`); the test fails when the page says anything else.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from flight.other_clients.matrix import CLIENTS, FEATURES, in_docs, matrix, write_docs
from omnigraph_flight.server import Server

HERE = Path(__file__).parent
INSTALLED = "OMNIGRAPH_CLIENTS"
"""Names the folder in which `make test-clients` installs them."""
WRITE = "OMNIGRAPH_WRITE_MATRIX"

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(INSTALLED not in os.environ, reason="`make test-clients` installs them"),
]
_SEEN: dict[str, set[str]] = {}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_works(server: Server, client: str) -> None:
    done = subprocess.run(
        [*command(CLIENTS[client]), server.uri.removeprefix("grpc://")],
        capture_output=True,
        text=True,
        timeout=240,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = set(json.loads(done.stdout))
    assert "query" in seen, done.stderr[-2000:]
    assert seen <= set(FEATURES)
    _SEEN[client] = seen
    if WRITE not in os.environ:
        assert seen == matrix(in_docs())[client], done.stderr[-2000:]


def test_the_matrix_in_the_docs_is_what_was_seen() -> None:
    if _SEEN.keys() != CLIENTS.keys():
        pytest.skip("only some of the clients ran")
    if WRITE in os.environ:
        write_docs(_SEEN)
    seen: Mapping[str, set[str]] = _SEEN
    assert matrix(in_docs()) == seen


def command(script: str) -> list[str]:
    """How to run a client's program, placed where its language finds its libraries."""
    folder = Path(os.environ[INSTALLED])
    for each in HERE.iterdir():
        if each.suffix in (".py", ".mjs", ".java"):
            (folder / each.name).write_text(each.read_text("utf-8"), "utf-8")
    placed = str(folder / script)
    if script.endswith(".py"):
        installed = "python-sqlalchemy2" if script == "sqlalchemy_adbc_client.py" else "python"
        return [str(folder / installed / "bin" / "python"), placed]
    if script.endswith(".mjs"):
        return ["node", placed]
    jars = (folder / "java" / "deephaven_server" / "jars").glob("*.jar")
    # Without that logger, whose lines would come between what the program says.
    classes = ":".join(str(jar) for jar in jars if not jar.name.startswith("logback"))
    return ["java", "-cp", classes, "--add-opens=java.base/java.nio=ALL-UNNAMED", placed]
