"""pandas over an ADBC connection; says as JSON what worked."""

import pandas as pd
from adbc_driver_flightsql import dbapi
from worked import tell, uri

NAMES = "SELECT name FROM Person ORDER BY name"
connection = dbapi.connect(uri(), autocommit=True)


def uploads() -> bool:
    words = pd.DataFrame({"word": ["one", "two"], "n": [1, 2]})
    words.to_sql("words", connection, index=False)
    words.to_sql("words", connection, index=False, if_exists="append")
    return bool(pd.read_sql("SELECT sum(n) AS n FROM words", connection)["n"][0] == 6)


def errors() -> bool:
    try:
        pd.read_sql("SELECT * FRM Person", connection)
    except Exception as error:  # noqa: BLE001 - whatever pandas makes of it
        return "parse_error" in str(error)
    return False


tell(
    {
        "query": lambda: list(pd.read_sql(NAMES, connection)["name"]) == ["Ann", "Bob", "Cid"],
        "parameters": lambda: (
            list(
                pd.read_sql("SELECT name FROM Person WHERE name = ?", connection, params=("Bob",))[
                    "name"
                ]
            )
            == ["Bob"]
        ),
        "tables": lambda: len(pd.read_sql_table("Person", connection, schema="nodes")) == 3,
        "uploads": uploads,
        "errors": errors,
    }
)
