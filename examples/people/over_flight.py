"""Serve a graph in this process and read it as any Arrow Flight SQL client would: with ADBC."""

from __future__ import annotations

import sys

import adbc_driver_flightsql.dbapi as adbc

from omnigraph_flight.config import Config
from omnigraph_flight.server import Server

ASKED = (
    "SELECT name, age FROM person ORDER BY age DESC LIMIT 3",
    "SELECT * FROM gq('query knows() { match { $p: Person  $p knows $q }"
    " return { $p.name as name, count($q) as friends } order { name } }', '{}')",
)


def main(graph: str) -> None:
    with (
        Server(Config(graphs={"people": graph}, port=0)) as server,
        adbc.connect(server.uri, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        print(f"serving {graph} at {server.uri}")
        for sql in ASKED:
            print(f"\n{sql}")
            cursor.execute(sql)
            print(cursor.fetch_arrow_table().to_pandas().to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1])
