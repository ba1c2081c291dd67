"""Node and edge types in SQL: every rule of the graph holds, deletions take edges along."""

from __future__ import annotations

import pytest

from omnigraph.errors import (
    AlreadyExists,
    ConstraintViolation,
    InvalidInput,
    KeyConflict,
    NotFound,
    OmniGraphError,
)
from sql.writing.session import Session


def crews(session: Session) -> list[tuple[object, ...]]:
    return session.rows("SELECT name, crew FROM Boat ORDER BY name")


START = [("Ada", 2), ("Bly", 3), ("Cap", None)]


def test_entities_are_inserted_by_property(session: Session) -> None:
    assert session.run("INSERT INTO Boat (name, crew) VALUES ('Dot', 1), ('Eve', 2)") == 2
    assert session.run("INSERT INTO edges.Meets (src, dst) SELECT 'Ada', name FROM Boat") == 5
    assert session.rows("SELECT count(*) FROM Meets") == [(6,)]
    assert session.graph.snapshot().get("Boat", "Dot") is not None
    assert session.graph.verify(rules=True).ok


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("INSERT INTO Boat (name) VALUES ('Ada')", KeyConflict),
        ("INSERT INTO Boat (crew) VALUES (1)", OmniGraphError),
        ("INSERT INTO Boat (name, reg) VALUES ('X', 'r'), ('Y', 'r')", ConstraintViolation),
        ("INSERT INTO Meets (src, dst) VALUES ('Ada', 'nobody')", ConstraintViolation),
        ("INSERT INTO Tows (src, dst) VALUES ('Ada', 'Bly'), ('Ada', 'Cap')", ConstraintViolation),
        ("INSERT INTO Boat (name, crew) VALUES ('X', 'many')", InvalidInput),
        ("INSERT INTO Boat (name, sails) VALUES ('X', 1)", NotFound),
        ("UPDATE Boat SET name = 'Bly' WHERE name = 'Ada'", OmniGraphError),
        ("UPDATE Boat SET name = NULL", OmniGraphError),
        ("UPDATE Boat SET reg = 'same'", ConstraintViolation),
        ("UPDATE Meets SET dst = 'nobody'", ConstraintViolation),
    ],
)
def test_every_rule_of_the_graph_holds(
    session: Session, sql: str, error: type[OmniGraphError]
) -> None:
    before = session.commits()
    with pytest.raises(error):
        session.run(sql)
    assert session.commits() == before
    assert crews(session) == START


def test_updates_change_properties_and_nothing_else(session: Session) -> None:
    assert session.run("UPDATE Boat SET crew = crew + 1 WHERE crew IS NOT NULL") == 2
    assert session.run("UPDATE Boat AS b SET flag = m.id FROM Meets m WHERE m.src = b.name") == 1
    assert session.rows("SELECT name, crew, flag FROM Boat ORDER BY name") == [
        ("Ada", 3, None),
        ("Bly", 4, "m1"),
        ("Cap", None, "NL"),
    ]
    assert session.run("UPDATE Meets SET dst = 'Ada'") == 1
    assert session.rows("SELECT id, src, dst FROM Meets") == [("m1", "Bly", "Ada")]


def test_deleted_nodes_take_their_edges_along(session: Session) -> None:
    assert session.run("DELETE FROM Boat WHERE name IN (SELECT dst FROM Meets)") == 1
    assert session.rows("SELECT * FROM Meets") == []
    assert [row[0] for row in crews(session)] == ["Ada", "Bly"]
    assert session.graph.verify(rules=True).ok


def test_edges_are_deleted_alone(session: Session) -> None:
    assert session.run("DELETE FROM Meets USING Boat WHERE Meets.src = Boat.name") == 1
    assert len(crews(session)) == 3


def test_merges_and_conflicts_by_the_key(session: Session) -> None:
    changed = session.run(
        "MERGE INTO Boat b USING (VALUES ('Ada', 9), ('Dot', 1)) AS s(name, crew)"
        " ON b.name = s.name WHEN MATCHED THEN UPDATE SET crew = s.crew"
        " WHEN NOT MATCHED THEN INSERT (name, crew) VALUES (s.name, s.crew)"
        " WHEN NOT MATCHED BY SOURCE AND b.flag = 'NL' THEN DELETE"
    )
    assert changed == 3
    assert crews(session) == [("Ada", 9), ("Bly", 3), ("Dot", 1)]
    assert session.rows("SELECT count(*) FROM Meets") == [(0,)]
    upsert = "INSERT INTO Boat (name, crew) VALUES ('Ada', 1), ('Eve', 5) ON CONFLICT"
    assert session.run(f"{upsert} DO NOTHING") == 1
    assert session.run(f"{upsert} (name) DO UPDATE SET crew = EXCLUDED.crew") == 2
    assert crews(session)[0] == ("Ada", 1)


def test_a_type_is_emptied_with_its_edges_first(session: Session) -> None:
    with pytest.raises(ConstraintViolation):
        session.run("TRUNCATE TABLE Boat")
    assert session.run("TRUNCATE TABLE Meets, Boat") == 4
    assert crews(session) == []


# --------------------------------------------------------------------------- making types


@pytest.mark.parametrize(
    "text",
    ["a\x01b", "a\bb\fc", 'a"b\\n', "a\nb\rc\td", "a\x0bb\x1c\x85\u2028c", "a\x7f\ud7ff€😀"],
)
def test_texts_of_a_type_may_hold_any_character(session: Session, text: str) -> None:
    session.run(
        "CREATE NODE TABLE Foo (name TEXT PRIMARY KEY, other TEXT,"
        f" x TEXT DEFAULT '{text}' COMMENT '{text}')"
    )
    session.run(f"COMMENT ON TABLE Foo IS '{text}'")
    session.run("ALTER TABLE Foo RENAME COLUMN other TO second")
    type_ = session.graph.schema().catalog.node("Foo")
    column = type_.property("x")
    assert [type_.description, column.description, column.default] == [text] * 3


def test_a_node_type_is_made_with_its_constraints(session: Session) -> None:
    session.run(
        "CREATE NODE TABLE Port (name TEXT PRIMARY KEY, depth INT NOT NULL COMMENT 'metres',"
        " code VARCHAR(3) UNIQUE, opened DATE, spot REAL[2], CHECK (depth BETWEEN 0 AND 50))"
    )
    port = session.graph.schema().catalog.node("Port")
    assert port.key is not None
    assert port.key.members == ("name",)
    assert {p.name: str(p.type) for p in port.properties} == {
        "name": "String",
        "depth": "I32",
        "code": "String?",
        "opened": "Date?",
        "spot": "Vector(2)?",
    }
    assert port.property("depth").description == "metres"
    session.run("INSERT INTO Port (name, depth, code) VALUES ('Riga', 8, 'RIX')")
    for row in ("('Oslo', 51, 'OSL')", "('Oslo', 5, 'RIX')", "('Riga', 5, 'X')"):
        with pytest.raises(OmniGraphError):
            session.run(f"INSERT INTO Port (name, depth, code) VALUES {row}")
    assert session.rows("SELECT name, depth FROM Port") == [("Riga", 8)]
    with pytest.raises(AlreadyExists):
        session.run("CREATE NODE TABLE Port (name TEXT)")
    session.run("CREATE NODE TABLE IF NOT EXISTS Port (name TEXT)")


def test_types_are_made_from_queries_in_one_commit(session: Session) -> None:
    before = session.commits()
    made = session.run(
        "-- ports of call\nCREATE NODE TABLE Port (PRIMARY KEY (name)) AS"
        " SELECT DISTINCT flag || '-port' AS name, length(flag) AS size FROM Boat"
        " WHERE flag IS NOT NULL"
    )
    assert made == 1
    assert session.commits() == before + 1
    joined = session.run(
        'CREATE EDGE TABLE Calls FROM "Boat" TO Port (since DATE) AS'
        " SELECT b.name AS src, p.name AS dst, DATE '2024-01-01' AS since FROM Boat b, Port p"
    )
    assert joined == 3
    assert session.commits() == before + 2
    assert session.rows("SELECT count(*), min(dst) FROM Calls") == [(3, "NL-port")]
    assert session.graph.schema().catalog.edge("Calls").dst == "Port"
    assert session.graph.verify(rules=True).ok


def test_a_type_whose_rows_break_its_rules_is_not_made(session: Session) -> None:
    before = session.commits()
    for sql in (
        "CREATE EDGE TABLE Calls FROM Boat TO Boat AS SELECT 'Ada' AS src, 'nobody' AS dst",
        "CREATE NODE TABLE Crew (n INT PRIMARY KEY) AS SELECT 1 UNION ALL SELECT 1",
        "CREATE NODE TABLE Crew (n INT NOT NULL) AS SELECT crew FROM Boat",
        "CREATE EDGE TABLE Calls FROM Boat TO Nowhere (a INT)",
        "CREATE EDGE TABLE Calls (a INT)",
        "CREATE NODE TABLE Crew (n INTERVAL)",
        "CREATE NODE TABLE Crew (n INT, CHECK (n % 2 = 0))",
    ):
        with pytest.raises(OmniGraphError):
            session.run(sql)
    assert session.commits() == before
    assert {*session.graph.schema().catalog.nodes} == {"Boat"}


def test_a_type_is_replaced_with_its_columns_and_rows(session: Session) -> None:
    session.run("CREATE NODE TABLE Port AS SELECT 'Riga' AS name, 8 AS depth")
    session.run("CREATE OR REPLACE NODE TABLE Port AS SELECT 'Oslo' AS name, 'deep' AS depth")
    assert session.rows("SELECT name, depth FROM Port") == [("Oslo", "deep")]
    assert session.graph.verify(rules=True).ok


def test_ids_may_be_given_and_numbers_are_texts(session: Session) -> None:
    session.run("CREATE NODE TABLE Item (id BIGINT PRIMARY KEY, label TEXT)")
    session.run("INSERT INTO Item (id, label) VALUES (7, 'seven')")
    session.run("CREATE EDGE TABLE Next FROM Item TO Item AS SELECT 7 AS src, 7 AS dst")
    assert session.rows("SELECT id, label FROM Item") == [("7", "seven")]
    assert session.rows("SELECT src, dst FROM Next") == [("7", "7")]


def test_types_are_altered_renamed_and_dropped(session: Session) -> None:
    session.run("ALTER TABLE Boat ADD COLUMN built INT, DROP COLUMN flag")
    session.run("ALTER TABLE nodes.Boat RENAME COLUMN crew TO hands")
    session.run("ALTER TABLE Boat ALTER COLUMN hands TYPE BIGINT")
    session.run("ALTER TABLE Boat RENAME TO Ship")
    session.run("COMMENT ON TABLE Ship IS 'it floats'")
    session.run("COMMENT ON COLUMN Ship.hands IS 'on deck'")
    assert session.rows("SELECT name, hands, built FROM Ship ORDER BY name") == [
        ("Ada", 2, None),
        ("Bly", 3, None),
        ("Cap", None, None),
    ]
    ship = session.graph.schema().catalog.node("Ship")
    assert (ship.description, ship.property("hands").description) == ("it floats", "on deck")
    assert session.graph.schema().catalog.edge("Meets").src == "Ship"
    with pytest.raises(OmniGraphError):
        session.run("DROP TABLE Ship")
    session.run("DROP TABLE Meets")
    session.run("DROP TABLE edges.Tows")
    session.run("DROP TABLE Ship")
    assert list(session.graph.schema().catalog.types()) == []
    assert session.graph.verify(rules=True).ok


@pytest.mark.parametrize("table", ["TABLE", "NODE TABLE"])
@pytest.mark.parametrize(
    "rule",
    [
        "GENERATED ALWAYS AS IDENTITY",
        "AUTO_INCREMENT",
        "GENERATED ALWAYS AS (1 + 1) STORED",
        "ON UPDATE CURRENT_TIMESTAMP",
    ],
)
def test_columns_that_the_table_would_have_to_fill_are_refused(
    session: Session, table: str, rule: str
) -> None:
    before = session.commits()
    with pytest.raises(InvalidInput, match="'n' is computed by the table"):
        session.run(f"CREATE {table} Crew (name TEXT PRIMARY KEY, n INT {rule})")
    assert session.commits() == before
