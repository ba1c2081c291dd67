"""polars over ADBC; says as JSON what worked."""

import sys

import polars as pl
from adbc_driver_flightsql import dbapi
from worked import tell, uri

NAMES = "SELECT name FROM Person ORDER BY name"
ADDRESS = f"flightsql://{sys.argv[1]}?transport=tcp"
connection = dbapi.connect(uri(), autocommit=True)


def query() -> bool:
    by_uri = pl.read_database_uri(NAMES, ADDRESS, engine="adbc")
    by_connection = pl.read_database(NAMES, connection)
    return by_uri["name"].to_list() == by_connection["name"].to_list() == ["Ann", "Bob", "Cid"]


def parameters() -> bool:
    found = pl.read_database(
        "SELECT name FROM Person WHERE name = ?",
        connection,
        execute_options={"parameters": ["Bob"]},
    )
    return found["name"].to_list() == ["Bob"]


def uploads() -> bool:
    words = pl.DataFrame({"word": ["one", "two"], "n": [1, 2]})
    words.write_database("words", ADDRESS, engine="adbc")
    words.write_database("words", ADDRESS, engine="adbc", if_table_exists="append")
    return pl.read_database("SELECT sum(n) AS n FROM words", connection)["n"].to_list() == [6]


def errors() -> bool:
    try:
        pl.read_database("SELECT * FRM Person", connection)
    except Exception as error:  # noqa: BLE001 - whatever polars makes of it
        return "parse_error" in str(error)
    return False


tell({"query": query, "parameters": parameters, "uploads": uploads, "errors": errors})
