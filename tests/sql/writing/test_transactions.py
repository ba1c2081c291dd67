"""A transaction is one publish, or nothing: also for several statements in one text."""

from __future__ import annotations

import pytest

import omnigraph_sql
from omnigraph.errors import (
    AlreadyApplied,
    Conflict,
    ConstraintViolation,
    InvalidInput,
    MergeConflict,
    NotFound,
    OmniGraphError,
)
from sql.writing.session import Session


def names(session: Session) -> list[object]:
    return [row[0] for row in session.rows("SELECT name FROM Boat ORDER BY name")]


def hidden(session: Session) -> list[str]:
    heads = session.graph._store.heads()
    return [head.branch for head in heads if head.branch.startswith("__")]


def test_a_transaction_is_one_commit(session: Session) -> None:
    before = session.commits()
    session.run("BEGIN")
    session.run("CREATE TABLE t AS SELECT 1 AS a")
    session.run("INSERT INTO t VALUES (2)")
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    assert session.rows("SELECT sum(a) FROM t") == [(3,)]
    assert session.commits() == before
    assert session.graph.tables() == []
    session.run("COMMIT")
    assert session.commits() == before + 1
    assert session.rows("SELECT sum(a) FROM t") == [(3,)]
    commit = session.graph.commits()[0]
    assert commit.actor == "ada"
    assert commit.message is not None
    assert commit.message.startswith("CREATE TABLE t AS SELECT 1 AS a; INSERT INTO t")
    assert hidden(session) == []
    assert session.graph.verify(rules=True).ok


def test_a_transaction_may_say_the_message_of_its_commit(session: Session) -> None:
    session.run("BEGIN")
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    session.run("SET commit_message = 'Ada''s boats'")
    session.run("COMMIT")
    assert session.graph.commits()[0].message == "Ada's boats"
    session.run("BEGIN; INSERT INTO Boat (name) VALUES ('Eve'); COMMIT")
    assert (session.graph.commits()[0].message or "").startswith("INSERT INTO Boat")
    with pytest.raises(InvalidInput, match="no transaction is open"):
        session.run("SET commit_message = 'of nothing'")


def test_a_transaction_may_be_a_batch_that_lands_once(session: Session) -> None:
    other = omnigraph_sql.connect(session.graph)
    for connection, boat in ((session.connection, "Dot"), (other, "Eve")):
        connection.begin()
        connection.execute("SET commit_once = 'ada@harbour@7'")
        connection.execute(f"INSERT INTO Boat (name) VALUES ('{boat}')")
    assert session.connection.commit() is not None
    assert session.graph.last_batch("ada@harbour") == 7
    with pytest.raises(AlreadyApplied):  # found when it was published
        other.commit()
    other.begin()
    with pytest.raises(AlreadyApplied):  # found before its rows are
        other.execute("SET commit_once = 'ada@harbour@7'")
    other.rollback()
    assert names(session) == ["Ada", "Bly", "Cap", "Dot"]
    assert hidden(session) == []


def test_a_batch_that_changes_nothing_is_noted(session: Session) -> None:
    before = session.graph.snapshot()
    session.run("BEGIN; SET commit_once = 'harbour@0'; COMMIT")
    session.run("BEGIN; SET commit_once = 'harbour@1'; DELETE FROM Boat WHERE name = 'Z'; COMMIT")
    assert session.graph.last_batch("harbour") == 1
    assert session.commits() == before.version + 2
    assert session.graph.commits()[1].message == "batch 0 of harbour"
    assert session.graph.commits()[0].parents == (session.graph.commits()[1].id,)
    assert hidden(session) == []
    assert session.graph.verify(rules=True).ok


@pytest.mark.parametrize("text", ["7", "@7", "harbour@", "harbour@-1", "harbour@x", "harbour"])
def test_what_is_no_batch_is_refused(session: Session, text: str) -> None:
    session.run("BEGIN")
    with pytest.raises(InvalidInput, match="is not a batch"):
        session.run(f"SET commit_once = '{text}'")


def test_a_batch_stays_on_the_branch_that_was_asked_for(session: Session) -> None:
    session.graph.create_branch("other")
    session.run("BEGIN; SET commit_once = 'harbour@1'")
    with pytest.raises(InvalidInput, match="batch 1 of harbour on main"):
        session.run("USE other")
    session.run("COMMIT")
    assert session.graph.last_batch("harbour") == 1
    assert session.graph.last_batch("harbour", branch="other") == -1


def test_a_batch_that_is_rolled_back_to_before_it_was_said_is_none(session: Session) -> None:
    session.run("BEGIN; SAVEPOINT a; SET commit_once = 'harbour@1'; ROLLBACK TO a")
    session.run("INSERT INTO Boat (name) VALUES ('Dot'); COMMIT")
    assert session.graph.last_batch("harbour") == -1


def test_what_a_commit_meets_is_told_without_the_hidden_branch(session: Session) -> None:
    session.run("BEGIN")
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    session.graph.load(b'{"type":"Boat","data":{"name":"Dot","crew":9}}')
    with pytest.raises(MergeConflict, match="^the transaction cannot be committed to main") as met:
        session.run("COMMIT")
    assert "__txn" not in str(met.value)
    assert "Begin a new transaction" in str(met.value.hint)


def test_others_see_nothing_before_the_commit(session: Session) -> None:
    other = omnigraph_sql.connect(session.graph)
    session.connection.begin()
    session.run("DELETE FROM Boat WHERE name = 'Ada'")
    assert names(session) == ["Bly", "Cap"]
    seen = other.execute("SELECT count(*) FROM Boat")
    assert not isinstance(seen, int)
    assert seen.read_all().column(0).to_pylist() == [3]
    assert session.connection.commit() is not None
    assert session.graph.snapshot().count("Boat") == 2


def test_a_rollback_leaves_nothing(session: Session) -> None:
    before = session.commits()
    session.run("BEGIN; INSERT INTO Boat (name) VALUES ('Dot'); CREATE SCHEMA s; ROLLBACK")
    assert session.commits() == before
    assert names(session) == ["Ada", "Bly", "Cap"]
    assert hidden(session) == []


def test_a_closed_session_rolls_back(session: Session) -> None:
    session.run("BEGIN")
    session.run("DELETE FROM Boat")
    session.connection.close()
    assert session.graph.snapshot().count("Boat") == 3
    assert hidden(session) == []


def test_a_transaction_that_writes_nothing_makes_no_commit(session: Session) -> None:
    before = session.commits()
    session.run("BEGIN")
    assert names(session) == ["Ada", "Bly", "Cap"]
    assert session.run("DELETE FROM Boat WHERE false") == 0
    session.run("COMMIT")
    assert session.commits() == before
    assert hidden(session) == []


def test_reads_of_a_transaction_stay_at_its_begin(session: Session) -> None:
    session.run("BEGIN")
    with session.graph.transaction() as txn:
        txn.insert("Boat", [{"name": "Zoe"}])
    assert names(session) == ["Ada", "Bly", "Cap"]
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    assert names(session) == ["Ada", "Bly", "Cap", "Dot"]
    session.run("COMMIT")
    assert names(session) == ["Ada", "Bly", "Cap", "Dot", "Zoe"]


def test_savepoints_take_back_what_came_after(session: Session) -> None:
    before = session.commits()
    session.run("BEGIN")
    session.run("SAVEPOINT start")
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    session.run("SAVEPOINT one")
    session.run("INSERT INTO Boat (name) VALUES ('Eve')")
    session.run("SAVEPOINT two")
    session.run("ROLLBACK TO SAVEPOINT one")
    assert names(session)[-1] == "Dot"
    with pytest.raises(NotFound, match="two"):
        session.run("ROLLBACK TO two")
    session.run("INSERT INTO Boat (name) VALUES ('Fox')")
    session.run("RELEASE SAVEPOINT one")
    session.run("COMMIT")
    assert names(session) == ["Ada", "Bly", "Cap", "Dot", "Fox"]
    assert session.commits() == before + 1
    session.run("BEGIN; SAVEPOINT start; DELETE FROM Boat; ROLLBACK TO start; COMMIT")
    assert len(names(session)) == 5
    assert hidden(session) == []


def test_several_statements_of_a_text_are_one_commit(session: Session) -> None:
    before = session.commits()
    session.run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
    assert session.commits() == before + 1
    assert session.rows("INSERT INTO t VALUES (3); SELECT sum(a) FROM t") == [(6,)]
    with pytest.raises(OmniGraphError):
        session.run("INSERT INTO t VALUES (4); INSERT INTO t VALUES ('x')")
    assert session.rows("SELECT sum(a) FROM t") == [(6,)]
    assert session.commits() == before + 2
    assert hidden(session) == []


def test_nodes_and_edges_come_in_any_order(session: Session) -> None:
    session.run(
        "INSERT INTO Meets (src, dst) VALUES ('Ada', 'Dot'); INSERT INTO Boat (name) VALUES ('Dot')"
    )
    assert session.rows("SELECT count(*) FROM Meets") == [(2,)]
    before = session.commits()
    with pytest.raises((ConstraintViolation, Conflict)):
        session.run("BEGIN; INSERT INTO Meets (src, dst) VALUES ('Ada', 'nobody'); COMMIT")
    assert session.commits() == before
    assert not session.connection.in_transaction
    assert hidden(session) == []
    assert session.graph.verify(rules=True).ok


def test_a_failed_statement_leaves_the_transaction_as_it_was(session: Session) -> None:
    session.run("BEGIN")
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    with pytest.raises(OmniGraphError):
        session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    session.run("INSERT INTO Boat (name) VALUES ('Eve')")
    session.run("COMMIT")
    assert names(session)[-2:] == ["Dot", "Eve"]


def test_two_transactions_on_the_same_rows_conflict(session: Session) -> None:
    other = omnigraph_sql.connect(session.graph)
    session.run("BEGIN")
    other.begin()
    session.run("UPDATE Boat SET crew = 7 WHERE name = 'Ada'")
    other.execute("UPDATE Boat SET crew = 8 WHERE name = 'Ada'")
    session.run("COMMIT")
    with pytest.raises(Conflict):
        other.commit()
    assert session.rows("SELECT crew FROM Boat WHERE name = 'Ada'") == [(7,)]
    assert hidden(session) == []


def test_two_transactions_on_different_tables_both_land(session: Session) -> None:
    session.run("CREATE TABLE t (a INT); CREATE TABLE u (a INT)")
    other = omnigraph_sql.connect(session.graph)
    session.run("BEGIN")
    other.begin()
    session.run("INSERT INTO t VALUES (1)")
    other.execute("INSERT INTO u VALUES (2)")
    session.run("COMMIT")
    other.commit()
    assert session.rows("SELECT t.a, u.a FROM t, u") == [(1, 2)]


def test_a_transaction_has_one_branch(session: Session) -> None:
    session.run("CREATE BRANCH dev")
    session.run("BEGIN")
    with pytest.raises(InvalidInput, match="one branch"):
        session.run("DELETE FROM dev.nodes.Boat")
    with pytest.raises(InvalidInput, match="open already"):
        session.run("BEGIN")
    session.run("ROLLBACK")
    with pytest.raises(InvalidInput, match="no transaction"):
        session.run("SAVEPOINT a")


@pytest.mark.parametrize(
    "begin",
    [
        "START TRANSACTION",
        "BEGIN TRANSACTION READ WRITE",
        "begin isolation level serializable, read write",
        "BEGIN WORK",
    ],
)
def test_a_transaction_may_begin_in_many_words(session: Session, begin: str) -> None:
    before = names(session)
    session.run(begin)
    assert session.connection.in_transaction
    session.run("INSERT INTO Boat (name) VALUES ('Dot')")
    session.run("ROLLBACK")
    assert names(session) == before
