"""The change feed delivers the commits of a branch, page by page.

The rules are docs/design/branching.md#5-commit-changes-and-feed.
"""

from __future__ import annotations

import base64
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from engine.branching.recorded import History, data_histories
from engine.branching.test_commit_changes import head, merged
from omnigraph import Graph
from omnigraph.branching.changelog import change_feed as feed_module
from omnigraph.branching.changelog import first_parent_log
from omnigraph.branching.changelog.feed_page import Page
from omnigraph.errors import (
    ChangeFeedGap,
    CursorRejected,
    InvalidInput,
    NotFound,
    SchemaBoundary,
    StorageError,
)
from support.graphs import BOATS, boats


@pytest.fixture
def graph(root: str) -> Graph:
    return boats(root)


def put(graph: Graph, *names: str, branch: str = "main", **values: Any) -> str:  # noqa: ANN401
    """Upsert boats in one commit."""
    with graph.transaction(branch) as txn:
        txn.upsert("Boat", [{"name": name, **values} for name in names])
    return head(graph, branch)


def shown(page: Page) -> list[list[tuple[str, str]]]:
    return [[(c.op, c.id) for c in block.changes] for block in page.blocks]


def rest(graph: Graph, page: Page, **options: Any) -> list[Page]:  # noqa: ANN401
    """This page and all after it, until the feed is caught up."""
    pages = [page]
    while not page.caught_up:
        page = graph.feed(cursor=page.cursor, page_token=page.next_page_token, **options)
        pages.append(page)
    return pages


def whole(pages: list[Page]) -> dict[str, list[dict[str, Any]]]:
    """The changes of every commit that some pages hold, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for page in pages:
        for block in page.blocks:
            changes = found.setdefault(block.cause.graph_commit_id, [])
            changes += [change.to_json() for change in block.changes]
    return found


# --------------------------------------------------------------------------- where it starts


def test_b30_from_the_beginning_after_a_fast_forward(graph: Graph) -> None:
    loaded = head(graph)
    graph.create_branch("wip")
    own = put(graph, "Dot", branch="wip", crew=1)
    commit = merged(graph, "wip")
    page = graph.feed(start="beginning")
    assert [block.cause.graph_commit_id for block in page.blocks] == [loaded, commit]
    assert shown(page)[0] == [("insert", id_) for id_ in ("Ada", "Bly", "Cap", "m1")]
    assert shown(page)[1] == [("insert", "Dot")]
    assert page.blocks[1].cause.merged_parent_commit_id == own
    assert page.caught_up and page.cursor and page.next_page_token is None


def test_now_is_the_default_and_shows_what_comes_later(graph: Graph) -> None:
    page = graph.feed()
    assert (page.blocks, page.caught_up) == ((), True)
    put(graph, "Dot")
    put(graph, "Eel")
    later = graph.feed(cursor=page.cursor)
    assert shown(later) == [[("insert", "Dot")], [("insert", "Eel")]]
    again = graph.feed(cursor=page.cursor)
    assert again.blocks == later.blocks
    assert graph.feed(cursor=later.cursor).blocks == ()


def test_after_a_commit_that_is_on_the_chain(graph: Graph) -> None:
    first = put(graph, "Dot")
    put(graph, "Eel")
    assert shown(graph.feed(start=f"after:{first}")) == [[("insert", "Eel")]]
    graph.create_branch("wip")
    own = put(graph, "Fay", branch="wip")
    assert shown(graph.feed("wip", start=f"after:{head(graph)}")) == [[("insert", "Fay")]]
    with pytest.raises(NotFound):
        graph.feed(start=f"after:{own}")


def test_a_branch_has_the_history_it_inherited(graph: Graph) -> None:
    put(graph, "Dot")
    graph.create_branch("wip", "main")
    put(graph, "Not on wip")
    put(graph, "Eel", branch="wip")
    found = shown(graph.feed("wip", start="beginning"))
    assert found[1:] == [[("insert", "Dot")], [("insert", "Eel")]]
    page = graph.feed("wip", start="beginning")
    assert [block.cause.authored_branch for block in page.blocks] == [None, None, "wip"]


def test_a_graph_without_commits_is_caught_up_at_once(root: str) -> None:
    graph = omnigraph.init(root, BOATS)
    page = graph.feed(start="beginning")
    assert (page.blocks, page.caught_up) == ((), True)
    put(graph, "Ada")
    assert shown(graph.feed(cursor=page.cursor)) == [[("insert", "Ada")]]


@pytest.mark.parametrize("start", ["", "later", "after", "after:", "before:x"])
def test_a_start_that_is_none_is_refused(graph: Graph, start: str) -> None:
    with pytest.raises(InvalidInput):
        graph.feed(start=start)


def test_one_place_to_go_on_from(graph: Graph) -> None:
    page = graph.feed()
    with pytest.raises(InvalidInput):
        graph.feed(start="now", cursor=page.cursor)


# --------------------------------------------------------------------------- pages


def test_a_page_that_ends_inside_a_block_has_only_a_page_token(graph: Graph) -> None:
    page = graph.feed(start="beginning", max_changes=3)
    assert shown(page) == [[("insert", "Ada"), ("insert", "Bly"), ("insert", "Cap")]]
    assert set(page.to_json()) == {"blocks", "next_page_token"}
    put(graph, "after the cut")
    page = graph.feed(page_token=page.next_page_token, max_changes=3)
    assert shown(page) == [[("insert", "m1")]]
    assert set(page.to_json()) == {"blocks", "cursor", "caught_up"}
    assert page.caught_up, "its poll began before the later commit"
    assert shown(graph.feed(cursor=page.cursor)) == [[("insert", "after the cut")]]


def test_a_page_that_is_full_at_the_end_of_a_block_has_a_cursor(graph: Graph) -> None:
    put(graph, "Dot")
    page = graph.feed(start="beginning", max_changes=4)
    assert (len(page.blocks), page.caught_up) == (1, False)
    assert page.cursor is not None
    assert shown(graph.feed(cursor=page.cursor)) == [[("insert", "Dot")]]


def test_commits_of_a_page_are_limited(graph: Graph) -> None:
    for crew in range(5):
        put(graph, "Dot", crew=crew)
    pages = rest(graph, graph.feed(start="beginning", max_commits=2), max_commits=2)
    assert [len(page.blocks) for page in pages] == [2, 2, 2]
    assert [page.caught_up for page in pages] == [False, False, True]


def test_bytes_of_a_page_are_limited_and_a_large_change_comes_alone(graph: Graph) -> None:
    put(graph, "A", "C", flag="x" * 100)
    put(graph, "B", flag="y" * 10_000)
    start = graph.feed(start=f"after:{graph.commits()[2].id}", max_bytes=400)
    pages = rest(graph, start, max_bytes=400)
    assert [shown(page) for page in pages] == [
        [[("insert", "A")]],
        [[("insert", "C")]],
        [[("insert", "B")]],
    ]
    assert [page.next_page_token is not None for page in pages] == [True, False, False]


@pytest.mark.parametrize(
    "limits",
    [
        {"max_changes": 0},
        {"max_changes": 8193},
        {"max_bytes": (32 << 20) + 1},
        {"max_commits": 513},
    ],
)
def test_limits_have_limits(graph: Graph, limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        graph.feed(**limits)


def test_empty_blocks_are_delivered(graph: Graph) -> None:
    cursor = graph.feed().cursor
    put(graph, "Ada", crew=2)
    graph.optimize()
    assert shown(graph.feed(cursor=cursor)) == [[], []]


@settings(max_examples=12)
@given(
    steps=data_histories,
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    parked=st.booleans(),
)
def test_pages_of_any_size_add_up_to_the_changes_of_each_commit(
    steps: list[tuple[Any, ...]], sizes: list[int], parked: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed_module, "PARKED_BLOCKS", 4 if parked else 0)
        patch.setattr(first_parent_log, "STEPS", 3)
        history = History(f"{folder}/graph")
        for step in steps:
            history.apply(step)
        graph = history.graph
        expected = {
            commit.id: [change.to_json() for change in graph.changes(commit.id)]
            for commit in reversed(graph.commits()[:-1])
        }
        page, pages, turn = graph.feed(start="beginning", max_changes=sizes[0]), [], 1
        while True:
            pages.append(page)
            assert sum(len(block.changes) for block in page.blocks) <= max(sizes)
            assert (page.next_page_token is None) != (page.cursor is None)
            if page.caught_up:
                break
            size = sizes[turn % len(sizes)]
            turn += 1
            page = graph.feed(cursor=page.cursor, page_token=page.next_page_token, max_changes=size)
        assert whole(pages) == expected
        assert list(whole(pages)) == list(expected)


# --------------------------------------------------------------------------- filters


def test_a_filter_narrows_blocks_and_leaves_every_commit(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.upsert("Boat", [{"name": "Dot"}, {"name": "Ada", "crew": 9}])
        txn.delete("Boat", ["Cap"])
    everything = graph.feed(start="beginning")
    for wanted in (
        {"kinds": ["edge"]},
        {"types": ["Boat"], "ops": ["update", "delete"]},
        {"types": ["meets"]},
        {"ops": ["insert"]},
    ):
        page = graph.feed(start="beginning", **wanted)  # type: ignore[arg-type]
        assert [block.cause for block in page.blocks] == [b.cause for b in everything.blocks]
        for mine, full in zip(page.blocks, everything.blocks, strict=True):
            assert list(mine.changes) == [
                change
                for change in full.changes
                if change.kind in wanted.get("kinds", [change.kind])
                and change.op in wanted.get("ops", [change.op])
                and (
                    change.type_name.lower()
                    in [t.lower() for t in wanted.get("types", [change.type_name])]
                )
            ]


def test_a_renamed_type_is_found_by_its_name_today_and_then(graph: Graph) -> None:
    graph.apply_schema(BOATS.replace("edge Meets: Boat -> Boat", ""))
    source = BOATS.replace("Boat", "Ship").replace("node Ship", 'node Ship @rename_from("Boat")')
    graph.apply_schema(source)
    with pytest.raises(NotFound):
        graph.feed(types=["Boat"])
    page = graph.feed(start="beginning", types=["Ship"])
    assert shown(page)[0] == [("insert", "Ada"), ("insert", "Bly"), ("insert", "Cap")]


def test_only_entities_have_changes(graph: Graph) -> None:
    with pytest.raises(InvalidInput):
        graph.feed(kinds=["table"])


# --------------------------------------------------------------------------- cursors


def rejected(graph: Graph, *arguments: str, **options: Any) -> str:  # noqa: ANN401
    with pytest.raises(CursorRejected) as caught:
        graph.feed(*arguments, **options)
    assert caught.value.to_json()["code"] == "cursor_rejected"
    return caught.value.message


def test_a_cursor_goes_on_in_another_process_that_opens_the_graph(graph: Graph) -> None:
    cursor = graph.feed(start="beginning", max_commits=1).cursor
    token = graph.feed(start="beginning", max_changes=2).next_page_token
    put(graph, "Dot")
    other = omnigraph.open(graph.uri)
    assert shown(other.feed(cursor=cursor)) == [[("insert", "Dot")]]
    assert shown(other.feed(page_token=token)) == [[("insert", "Cap"), ("insert", "m1")]]


def test_one_kind_of_token_is_not_the_other(graph: Graph) -> None:
    cursor = graph.feed().cursor
    token = graph.feed(start="beginning", max_changes=1).next_page_token
    assert "not a page token" in rejected(graph, page_token=cursor)
    assert "not a cursor" in rejected(graph, cursor=token)


def test_a_cursor_is_bound_to_its_filter(graph: Graph) -> None:
    cursor = graph.feed(types=["Boat", "Meets"]).cursor
    assert graph.feed(cursor=cursor, types=["Meets", "Boat"]).caught_up
    assert "another filter" in rejected(graph, cursor=cursor)
    assert "another filter" in rejected(graph, cursor=cursor, types=["Boat"])


def test_a_cursor_is_bound_to_its_branch_and_its_incarnation(graph: Graph) -> None:
    graph.create_branch("wip")
    cursor = graph.feed("wip").cursor
    assert "belongs to branch 'wip'" in rejected(graph, cursor=cursor)
    graph.delete_branch("wip")
    with pytest.raises(NotFound):
        graph.feed("wip", cursor=cursor)
    graph.create_branch("wip")
    assert "deleted and created again" in rejected(graph, "wip", cursor=cursor)


def test_a_cursor_is_bound_to_its_graph(graph: Graph, tmp_path: Path) -> None:
    other = boats(str(tmp_path / "other"))
    rejected(other, cursor=graph.feed().cursor)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, str]:
    graph = boats(str(tmp_path_factory.mktemp("kept") / "graph"))
    return graph, str(graph.feed().cursor)


@given(data=st.data())
@settings(max_examples=60)
def test_a_cursor_that_was_tampered_with_is_rejected(
    kept: tuple[Graph, str], data: st.DataObject
) -> None:
    graph, cursor = kept
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    changed = base64.urlsafe_b64encode(bytes(raw)).decode().rstrip("=")
    rejected(graph, cursor=changed)


@pytest.mark.parametrize("text", ["", "x", "é", "====", "a" * 10_000, "\x00", "null", "e30"])
def test_any_other_text_is_rejected(graph: Graph, text: str) -> None:
    rejected(graph, cursor=text)
    rejected(graph, page_token=text)
    cursor = str(graph.feed().cursor)
    for damaged in (cursor[:-1], cursor + "A", cursor + "=", cursor.swapcase(), " " + cursor):
        rejected(graph, cursor=damaged)


# --------------------------------------------------------------------------- lost history


def test_a_collection_leaves_a_gap_that_says_where(graph: Graph) -> None:
    cursor = graph.feed().cursor
    commits = [put(graph, "Dot", crew=crew) for crew in range(4)]
    graph.collect(keep=2)
    with pytest.raises(ChangeFeedGap) as caught:
        graph.feed(cursor=cursor)
    assert caught.value.to_json()["code"] == "change_feed_gap"
    assert caught.value.details["change_feed_gap"] == {
        "cursor": cursor,
        "first_unreadable_commit_id": commits[0],
    }
    page = graph.feed(start=f"after:{commits[2]}")
    assert shown(page) == [[("update", "Dot")]]
    with pytest.raises(ChangeFeedGap):
        graph.feed(start="beginning")


def test_a_page_token_of_a_collected_block_is_a_gap(graph: Graph) -> None:
    token = graph.feed(start="beginning", max_changes=1).next_page_token
    with graph.transaction() as txn:
        txn.overwrite("Meets", [])
        txn.overwrite("Boat", [{"name": "Dot"}])
    graph.collect(keep=1)
    with pytest.raises(ChangeFeedGap):
        omnigraph.open(graph.uri).feed(page_token=token)


def test_a_schema_boundary_ends_the_page_before_it_and_is_then_told(graph: Graph) -> None:
    graph.apply_schema(BOATS.replace("crew: I32?", "crew: I64?"))
    boundary = head(graph)
    put(graph, "Dot")
    page = graph.feed(start="beginning")
    assert len(page.blocks) == 1 and not page.caught_up
    with pytest.raises(SchemaBoundary):
        graph.feed(cursor=page.cursor)
    assert shown(graph.feed(start=f"after:{boundary}")) == [[("insert", "Dot")]]


def test_a_baseline_is_an_export_and_where_to_go_on(graph: Graph, tmp_path: Path) -> None:
    out = io.BytesIO()
    assert graph.baseline("main", out) == 4
    put(graph, "Dot")
    *lines, last = out.getvalue().splitlines(keepends=True)
    place = json.loads(last)["baseline"]
    assert place["snapshot_commit_id"] == graph.commits()[1].id
    assert shown(graph.feed(cursor=place["resume_cursor"])) == [[("insert", "Dot")]]
    exported = io.BytesIO()
    graph.export(exported, at=place["snapshot_commit_id"])
    assert b"".join(lines) == exported.getvalue()


def test_a_baseline_has_the_filter_of_its_feed(graph: Graph) -> None:
    out = io.BytesIO()
    assert graph.baseline("main", out, types=["Boat"], ops=["insert"]) == 3
    cursor = json.loads(out.getvalue().splitlines()[-1])["baseline"]["resume_cursor"]
    assert graph.feed(cursor=cursor, types=["Boat"], ops=["insert"]).caught_up
    rejected(graph, cursor=cursor)
    with pytest.raises(NotFound):
        graph.baseline("main", out, types=["Baot"])


def test_a_baseline_that_fails_has_no_last_line(graph: Graph, tmp_path: Path) -> None:
    for path in Path(graph.uri).rglob("nodes/*/data/*.lance"):
        path.unlink()
    out, file = io.BytesIO(), tmp_path / "baseline.ndjson"
    for target in (out, file):
        with pytest.raises(StorageError):
            omnigraph.open(graph.uri).baseline("main", target)
    assert b"baseline" not in out.getvalue()
    assert not file.exists()
