"""COMMIT is about the branch that BEGIN saw, and says how it ended."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import CommitUnknown, Conflict
from omnigraph.storage.manifest.commit_outcome import ManifestNotDurable
from omnigraph.storage.manifest.manifest import Manifest
from sql.writing.session import Session


def test_a_branch_that_was_created_again_does_not_get_the_rows_of_the_one_before(
    session: Session,
) -> None:
    session.run("CREATE TABLE notes (t TEXT)")
    graph = session.graph
    graph.create_branch("side")
    own = omnigraph_sql.connect(graph)
    own.execute("USE side")
    own.execute("INSERT INTO notes VALUES ('of the old branch')")
    own.execute("BEGIN")
    own.execute("INSERT INTO notes VALUES ('mine')")
    other = omnigraph.open(graph.uri)
    other.delete_branch("side")
    other.create_branch("side")
    with pytest.raises(Conflict):
        own.execute("COMMIT")
    assert graph.snapshot("side").plain_table("public.notes").rows == 0
    own.close()


def test_a_commit_whose_outcome_is_unknown_says_so(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run("CREATE TABLE notes (t TEXT)")
    own = omnigraph_sql.connect(session.graph)
    own.execute("BEGIN")
    own.execute("INSERT INTO notes VALUES ('mine')")
    swap = Manifest.compare_and_swap

    def landed_and_not_synced(self: Manifest, *given: Any) -> Any:  # noqa: ANN401
        swap(self, *given)
        raise ManifestNotDurable("the disk did not answer")

    with monkeypatch.context() as patched:
        patched.setattr(Manifest, "compare_and_swap", landed_and_not_synced)
        with pytest.raises(CommitUnknown):
            own.execute("COMMIT")
    assert session.rows("SELECT t FROM notes") == [("mine",)]
    own.close()
