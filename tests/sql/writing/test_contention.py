"""A statement lands although others keep committing to its table first."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import omnigraph
from omnigraph.storage.commit.publish_plan import PublishPlan
from omnigraph.storage.core.model import Commit
from sql.writing.session import Session


@pytest.mark.parametrize("moves", [3, 6, 12])
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("INSERT INTO t VALUES (-1)", "SELECT count(*) FROM t WHERE a = -1"),
        ("INSERT INTO Boat (name) VALUES ('Zoe')", "SELECT count(*) FROM Boat WHERE name = 'Zoe'"),
    ],
    ids=["plain", "type"],
)
def test_an_insert_lands_however_often_its_table_moves(
    session: Session, monkeypatch: pytest.MonkeyPatch, text: str, row: str, moves: int
) -> None:
    """A writer of another machine, which no queue holds up, commits before each publish."""
    session.run("CREATE TABLE t (a INT)")
    publisher, rival = session.graph._store.publisher, omnigraph.open(session.graph._store.root)
    monkeypatch.setattr(rival._store.publisher, "_machine", nullcontext())
    publish, done = publisher.publish, list[int]()

    def overtaken(plan: PublishPlan, **options: bool) -> Commit:
        if len(done) < moves:
            done.append(1)
            with rival.transaction() as txn:
                txn.insert("Boat", [{"name": f"rival {len(done)}"}])
                txn.append("public.t", [{"a": len(done)}])
        return publish(plan, **options)

    monkeypatch.setattr(publisher, "publish", overtaken)
    session.run(text)
    assert len(done) == moves
    assert session.rows(row) == [(1,)]
