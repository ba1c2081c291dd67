"""What CREATE BRANCH says of a branch besides its name, and tags."""

from __future__ import annotations

import pytest

from omnigraph.errors import InvalidInput, NotFound
from sql.writing.session import Session


def test_a_branch_has_an_owner_and_a_time_to_live(session: Session) -> None:
    session.run(
        'CREATE BRANCH "dbt/run-1" FROM main'
        " WITH (ttl = '7d', owner = 'it''s dbt', deferred_checks = true)"
    )
    made = next(b for b in session.graph.branches() if b.name == "dbt/run-1")
    assert made.owner == "it's dbt"
    assert made.expires is not None


def test_on_a_branch_with_deferred_checks_an_edge_may_come_before_its_nodes(
    session: Session,
) -> None:
    session.run("CREATE BRANCH later WITH (deferred_checks = true)")
    session.run("USE later")
    session.run("INSERT INTO edges.\"Meets\" (src, dst) VALUES ('Ada', 'Zoe')")
    session.run("INSERT INTO nodes.\"Boat\" (name) VALUES ('Zoe')")
    session.run("USE main")
    session.run("MERGE BRANCH later INTO main DROP SOURCE")
    assert session.rows("SELECT dst FROM edges.\"Meets\" WHERE src = 'Ada'") == [("Zoe",)]


@pytest.mark.parametrize("said", ["(ttl = 7)", "(colour = 'red')", "(owner)", "(ttl = '7d', 3)"])
def test_other_options_are_refused(session: Session, said: str) -> None:
    with pytest.raises(InvalidInput, match="option of a branch"):
        session.run(f"CREATE BRANCH b WITH {said}")
    assert [b.name for b in session.graph.branches()] == ["main"]


def test_tags_name_moments(session: Session) -> None:
    session.run("CREATE TAG v1")
    session.run("INSERT INTO nodes.\"Boat\" (name) VALUES ('Zoe')")
    assert session.rows('SELECT count(*) FROM "v1".nodes."Boat"') == [(3,)]
    assert session.rows('SELECT count(*) FROM nodes."Boat"') == [(4,)]
    session.run("DROP TAG v1")
    session.run("DROP TAG IF EXISTS v1")
    with pytest.raises(NotFound):
        session.run("DROP TAG v1")
