"""SQLAlchemy through flightsql-dbapi, in an environment of its own; says as JSON what worked."""

import json
import sys

import flightsql.sqlalchemy  # noqa: F401 - registers the dialect
from flightsql import FlightSQLClient
from flightsql.dbapi import connect
from sqlalchemy import create_engine, inspect, text

host, port = sys.argv[1].split(":")
worked = []

engine = create_engine(f"datafusion+flightsql://{host}:{port}?insecure=True")
with engine.connect() as connection:
    names = connection.execute(text("SELECT name FROM Person ORDER BY name")).fetchall()
    if [name for (name,) in names] == ["Ann", "Bob", "Cid"]:
        worked.append("query")
if {"Person", "Club"} <= set(inspect(engine).get_table_names(schema="nodes")):
    worked.append("tables")
if "age" in {column["name"] for column in inspect(engine).get_columns("Person", schema="nodes")}:
    worked.append("columns")

client = FlightSQLClient(host=host, port=int(port), insecure=True)
cursor = connect(client).cursor()


def rows(sql: str, params: list[str] | None = None) -> list[tuple[object, ...]]:
    return [tuple(row) for row in cursor.execute(sql, params).fetchall()]


if rows("SELECT name FROM Person WHERE name = ?", ["Bob"]) == [("Bob",)]:
    worked.append("parameters")
cursor.execute("INSERT INTO Person (name) VALUES ('Dee')")
if rows("SELECT count(*) FROM Person") == [(4,)]:
    worked.append("update")

sys.stdout.write(json.dumps(worked))
