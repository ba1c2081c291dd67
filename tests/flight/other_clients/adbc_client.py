"""ADBC through Python's database interface; says as JSON what worked."""

import pyarrow as pa
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import AdbcStatusCode, Error
from worked import tell, uri

NAMES = "SELECT name FROM Person ORDER BY name"
ENDLESS = (
    "WITH d(v) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) SELECT a.v FROM "
    + ", ".join(f"d {name}" for name in "abcdefghij")
)
connection = dbapi.connect(uri(), autocommit=True)
cursor = connection.cursor()


def names(where: dbapi.Cursor = cursor) -> list[str]:
    return [name for (name,) in where.execute(NAMES).fetchall()]


def objects(depth: str) -> list[dict[str, list[dict[str, object]]]]:
    found: list[dict[str, list[dict[str, object]]]]
    found = connection.adbc_get_objects(depth=depth, catalog_filter="main").read_all().to_pylist()
    return found


def tables() -> list[dict[str, object]]:
    (catalog,) = objects("columns")
    (nodes,) = [s for s in catalog["catalog_db_schemas"] if s["db_schema_name"] == "nodes"]
    found: list[dict[str, object]] = nodes["db_schema_tables"]  # type: ignore[assignment]
    return found


def login() -> bool:
    options = {"username": "anybody", "password": "anything"}
    with dbapi.connect(uri(), db_kwargs=options, autocommit=True) as other, other.cursor() as some:
        return names(some) == ["Ann", "Bob", "Cid"]


def uploads() -> bool:
    counts = [
        cursor.adbc_ingest("words", pa.table({"word": ["one", "two"]}), mode=mode)
        for mode in ("create", "append", "replace", "create_append")
    ]
    return counts == [2] * 4 and cursor.execute("SELECT * FROM words").rowcount in (-1, 4)


def transactions() -> bool:
    with dbapi.connect(uri()) as other, other.cursor() as some:
        some.execute("INSERT INTO Person (name) VALUES ('Eli')")
        apart = "Eli" in names(some) and "Eli" not in names()
        other.rollback()
        some.execute("INSERT INTO Person (name) VALUES ('Fay')")
        other.commit()
    return apart and "Fay" in names() and "Eli" not in names()


def savepoints() -> bool:
    """ADBC has no call for them; they are statements."""
    with dbapi.connect(uri()) as other, other.cursor() as some:
        some.execute("INSERT INTO Person (name) VALUES ('Gus')")
        some.execute("SAVEPOINT before")
        some.execute("INSERT INTO Person (name) VALUES ('Hal')")
        some.execute("ROLLBACK TO SAVEPOINT before")
        other.commit()
    return "Gus" in names() and "Hal" not in names()


def partitions() -> bool:
    options = {f"{DatabaseOptions.RPC_CALL_HEADER_PREFIX.value}x-omnigraph-slices": "3"}
    with dbapi.connect(uri(), db_kwargs=options, autocommit=True) as other, other.cursor() as some:
        cut, _ = some.adbc_execute_partitions(NAMES)
    found = []
    for each in cut:
        cursor.adbc_read_partition(each)
        found += [name for (name,) in cursor.fetchall()]
    return len(cut) == 3 and found == names()


def sessions() -> bool:
    cursor.execute("CREATE BRANCH draft")
    connection.adbc_current_catalog = "draft"
    there = connection.adbc_current_catalog == "draft"
    connection.adbc_current_catalog = "main"
    return there


def cancel() -> bool:
    with dbapi.connect(uri(), autocommit=True) as other, other.cursor() as some:
        some.execute(ENDLESS)
        some.fetchone()
        some.adbc_cancel()
        try:
            some.fetchall()
        except Error as error:
            return error.status_code == AdbcStatusCode.CANCELLED
    return False


def errors() -> bool:
    try:
        cursor.execute("SELECT * FRM Person")
    except Error as error:
        return error.status_code == AdbcStatusCode.INVALID_ARGUMENT and "File " not in str(error)
    return False


tell(
    {
        "query": lambda: names() == ["Ann", "Bob", "Cid"],
        "login": login,
        "schema": lambda: cursor.adbc_execute_schema(NAMES).names == ["name"],
        "parameters": lambda: (
            cursor.execute("SELECT name FROM Person WHERE name = ?", ("Bob",)).fetchall()
            == [("Bob",)]
        ),
        "update": lambda: cursor.execute("INSERT INTO Person (name) VALUES ('Dee')").rowcount == 1,
        "many rows": lambda: (
            cursor.executemany("DELETE FROM Person WHERE name = ?", [("Dee",), ("Nobody",)])
            or cursor.rowcount == 1
        ),
        "uploads": uploads,
        "transactions": transactions,
        "savepoints": savepoints,
        "catalogs": lambda: objects("catalogs")[0]["catalog_name"] == "main",
        "schemas": lambda: len(objects("db_schemas")[0]["catalog_db_schemas"]) > 1,
        "tables": lambda: {"Person", "Club"} <= {str(t["table_name"]) for t in tables()},
        "columns": lambda: all(t["table_columns"] for t in tables()),
        "types": lambda: {"TABLE", "VIEW"} <= set(connection.adbc_get_table_types()),
        "info": lambda: connection.adbc_get_info()["vendor_name"] == "OmniGraph",
        "partitions": partitions,
        "sessions": sessions,
        "cancel": cancel,
        "errors": errors,
    }
)
