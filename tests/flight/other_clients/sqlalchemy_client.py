"""SQLAlchemy through flightsql-dbapi; says as JSON what worked."""

import sys

import flightsql.sqlalchemy  # noqa: F401 - registers the dialect
from flightsql import FlightSQLClient
from flightsql.dbapi import connect
from sqlalchemy import create_engine, inspect, text
from worked import tell

host, port = sys.argv[1].split(":")
engine = create_engine(f"datafusion+flightsql://{host}:{port}?insecure=True")
client = FlightSQLClient(host=host, port=int(port), insecure=True)
cursor = connect(client).cursor()


def query() -> bool:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT name FROM Person ORDER BY name")).fetchall()
    return [name for (name,) in found] == ["Ann", "Bob", "Cid"]


def rows(sql: str, params: list[str] | None = None) -> list[tuple[object, ...]]:
    return [tuple(row) for row in cursor.execute(sql, params).fetchall()]


def update() -> bool:
    cursor.execute("INSERT INTO Person (name) VALUES ('Dee')")
    return rows("SELECT count(*) FROM Person") == [(4,)]


def columns() -> bool:
    found = inspect(engine).get_columns("Person", schema="nodes")
    return {"name", "age"} <= {column["name"] for column in found}


def errors() -> bool:
    try:
        rows("SELECT * FRM Person")
    except Exception as error:  # noqa: BLE001 - whatever the driver makes of it
        return "parse_error" in str(error)
    return False


tell(
    {
        "query": query,
        "parameters": lambda: rows("SELECT name FROM Person WHERE name = ?", ["Bob"]) == [("Bob",)],
        "update": update,
        "schemas": lambda: {"nodes", "edges"} <= set(inspect(engine).get_schema_names()),
        "tables": lambda: {"Person", "Club"} <= set(inspect(engine).get_table_names("nodes")),
        "columns": columns,
        "errors": errors,
    }
)
