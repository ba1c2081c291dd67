"""Tags are catalogs, and a protected branch takes no statement that writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph.errors import BranchProtected, NotFound
from support.social import add_person, people, social_graph


@pytest.fixture
def connection(tmp_path: Path) -> omnigraph_sql.Connection:
    return omnigraph_sql.connect(social_graph(str(tmp_path / "graph"), people=["Ann"]))


def rows(connection: omnigraph_sql.Connection, sql: str) -> list[dict[str, Any]]:
    reader = connection.execute(sql)
    assert isinstance(reader, pa.RecordBatchReader)
    found: list[dict[str, Any]] = reader.read_all().to_pylist()
    return found


def test_a_tag_is_made_shown_read_and_dropped(connection: omnigraph_sql.Connection) -> None:
    connection.execute("CREATE TAG v1")
    add_person(connection.graph, "Bob")
    connection.execute("CREATE TAG start FROM 'main@v1'")
    assert [row["name"] for row in rows(connection, "SHOW TAGS")] == ["start", "v1"]
    assert rows(connection, 'SELECT name FROM "v1".nodes."Person"') == [{"name": "Ann"}]
    connection.execute("DROP TAG v1")
    connection.execute("DROP TAG IF EXISTS v1")
    with pytest.raises(NotFound):
        connection.execute("DROP TAG v1")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO Person (name) VALUES ('Bob')",
        "UPDATE Person SET age = 3",
        "DELETE FROM Person",
        "CREATE TABLE t (a INT)",
        "CREATE VIEW v AS SELECT 1 AS a",
    ],
)
@pytest.mark.parametrize("within", ["a statement", "a transaction"])
def test_a_protected_branch_takes_no_writes(
    connection: omnigraph_sql.Connection, sql: str, within: str
) -> None:
    connection.graph.protect_branch("main")
    before = connection.graph.commits()[0].id
    with pytest.raises(BranchProtected):
        if within == "a transaction":
            connection.execute("BEGIN")
        connection.execute(sql)
        connection.execute("COMMIT")
    assert connection.graph.commits()[0].id == before
    assert people(connection.graph) == ["Ann"]
