"""The matrix in docs/flight.md: which client was seen to do what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs" / "flight.md"
_BLOCK = re.compile(r"(<!-- matrix -->\n)(.*?)(<!-- /matrix -->)", re.S)

CLIENTS = {
    "ADBC (Python)": "adbc_client.py",
    "pandas": "pandas_client.py",
    "polars": "polars_client.py",
    "SQLAlchemy (flightsql-dbapi)": "sqlalchemy_client.py",
    "SQLAlchemy (sqlalchemy-adbc)": "sqlalchemy_adbc_client.py",
    "Java FlightSqlClient 18.3": "JavaClient.java",
    "npm @lancedb/arrow-flight-sql-client": "lancedb_client.mjs",
    "npm @lakehouse-rs/flight-sql-client": "lakehouse_client.mjs",
}
"""The program of each client."""

FEATURES = (
    "query",
    "parameters",
    "update",
    "many rows",
    "uploads",
    "transactions",
    "savepoints",
    "schema",
    "catalogs",
    "schemas",
    "tables",
    "columns",
    "keys",
    "types",
    "info",
    "login",
    "sessions",
    "partitions",
    "cancel",
    "errors",
)


def in_docs() -> str:
    """The matrix as the page has it."""
    found = _BLOCK.search(DOCS.read_text("utf-8"))
    assert found is not None
    return found[2]


def matrix(text: str) -> dict[str, set[str]]:
    """The features of each client in a matrix: its columns are clients, its rows features."""
    head, _, *body = (
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.strip().splitlines()
    )
    return {
        client: {row[0] for row in body if row[place] == "yes"}
        for place, client in enumerate(head[1:], 1)
    }


def write_docs(seen: Mapping[str, set[str]]) -> None:
    """Put what was seen into the page."""
    lines = [
        " | ".join(["", "feature", *seen, ""]).strip(),
        "|---" * (len(seen) + 1) + "|",
        *(
            " | ".join(
                ["", feature, *("yes" if feature in f else "" for f in seen.values()), ""]
            ).strip()
            for feature in FEATURES
        ),
    ]
    text = "\n".join(lines) + "\n"
    page = DOCS.read_text("utf-8")
    DOCS.write_text(_BLOCK.sub(lambda found: found[1] + text + found[3], page), "utf-8")
