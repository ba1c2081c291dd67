"""Names, moments and places that cannot be: a typed error each, and nothing made on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyExists,
    CatalogError,
    InvalidInput,
    NotFound,
    OmniGraphError,
    ParseError,
    StorageError,
)
from support.graphs import BOATS, boats, refused


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "../x",
        "a..b",
        "a//b",
        "/a",
        "a/",
        "x.lock",
        "a/.lock",
        "é",
        "a b",
        "a\nb",
        "a\x00b",
        "a'b",
        'a"b',
        "a@b",
        "a:b",
        "x" * 256,
    ],
)
def test_a_hostile_branch_name_is_refused_everywhere(root: str, name: str) -> None:
    graph = boats(root)
    for action in (
        lambda: graph.create_branch(name),
        lambda: graph.delete_branch(name),
        lambda: graph.load(b"", branch=name),
        lambda: graph.load(b"", branch=name, from_="main"),
        lambda: graph.transaction(name),
        lambda: graph.apply_schema(BOATS, branch=name),
        lambda: graph.optimize(name),
        lambda: graph.commits(name),
    ):
        assert refused(graph, InvalidInput, action).hint


@pytest.mark.parametrize("name", ["MAIN", "a", "a/b/c", "rel-1.2_x", "9", "x.lock/y", "x" * 255])
def test_a_plain_name_is_accepted(root: str, name: str) -> None:
    graph = boats(root)
    assert graph.create_branch(name).name == name
    assert [branch.name for branch in graph.branches()] == sorted(["main", name])


@pytest.mark.parametrize("name", [None, 5, b"wip"])
def test_what_is_no_text_is_no_name(root: str, name: str) -> None:
    graph = boats(root)
    for action in (lambda: graph.create_branch(name), lambda: graph.delete_branch(name)):
        assert refused(graph, InvalidInput, action).hint


def test_surrounding_blanks_of_a_name_are_trimmed(root: str) -> None:
    graph = boats(root)
    assert graph.create_branch("  wip\t").name == "wip"
    refused(graph, AlreadyExists, lambda: graph.create_branch("wip"))
    graph.load(b"", branch=" wip ")
    graph.delete_branch(" wip ")
    assert [branch.name for branch in graph.branches()] == ["main"]


@pytest.mark.parametrize(
    "moment",
    [
        "main@",
        "@",
        "main@@",
        "main@v",
        "main@v-1",
        "main@V1",
        "main@2026-99-99",
        "main@2026-01-01T25:00:00Z",
        "main@0001-01-01T00:00:00+23:59",
        "main@9999-12-31T23:59:59-23:59",
        "main@yesterday",
        "main@\x00",
        "x y",
        "a//b",
        "../main",
    ],
)
def test_a_moment_that_cannot_be_read_is_refused(root: str, moment: str) -> None:
    graph = boats(root)
    for action in (
        lambda: graph.snapshot(moment),
        lambda: graph.schema(moment),
        lambda: graph.create_branch("new", moment),
    ):
        assert refused(graph, InvalidInput, action).hint


@pytest.mark.parametrize(
    "moment",
    [
        "main@v0",
        "main@v3",
        "main@v999999999999999999",
        "main@1999-01-01",
        "main@01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "nope",
        "nope@v1",
    ],
)
def test_a_moment_that_never_was_is_not_found(root: str, moment: str) -> None:
    graph = boats(root)
    for action in (
        lambda: graph.snapshot(moment),
        lambda: graph.schema(moment),
        lambda: graph.create_branch("new", moment),
    ):
        assert refused(graph, NotFound, action).hint


def test_an_unknown_commit_is_not_found(root: str) -> None:
    graph = boats(root)
    for name in ("", "x", "'", "commit:", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "main"):
        with pytest.raises(NotFound):
            graph.commit(name)


@pytest.mark.parametrize(
    "uri",
    ["", "  ", "\x00", "a\x00b", "s3://", "s3://bucket", "s3:///x", "ftp://x/y", "http://x/y"]
    + ["file://host/x", "file://", "file:///", "://", "://x"],
)
def test_a_place_that_is_none_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInput) as made:
        omnigraph.init(uri, BOATS)
    with pytest.raises(InvalidInput) as opened:
        omnigraph.open(uri)
    assert made.value.hint and opened.value.hint


def test_opening_a_place_without_a_graph_is_not_found_and_makes_nothing(tmp_path: Path) -> None:
    plain = tmp_path / "file"
    plain.write_text("x")
    for place in (tmp_path, tmp_path / "a", tmp_path / "a" / "b", plain, plain / "below"):
        with pytest.raises(NotFound, match="no graph") as caught:
            omnigraph.open(place)
        assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_graph_cannot_be_made_where_a_file_is(tmp_path: Path) -> None:
    plain = tmp_path / "file"
    plain.write_text("x")
    for place in (plain, plain / "below"):
        with pytest.raises(StorageError) as caught:
            omnigraph.init(place, BOATS)
        assert caught.value.hint
    assert plain.read_text() == "x"


def test_a_graph_is_not_made_over_another(root: str) -> None:
    graph = boats(root)
    assert refused(graph, AlreadyExists, lambda: omnigraph.init(root, BOATS)).hint


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("node {", ParseError),
        ("node Boat { name: Text }", ParseError),
        ("node Boat { name: String? @key }", ParseError),
        ("node Boat { x: Bool } node Boat { y: Bool }", CatalogError),
        ("edge E: Boat -> Ghost {}", CatalogError),
        ("\x00{", ParseError),
        ("nowhere.pg", NotFound),
        (".", InvalidInput),
    ],
)
def test_a_wrong_schema_makes_no_graph_and_changes_none(
    root: str, tmp_path: Path, source: str, kind: type[OmniGraphError]
) -> None:
    with pytest.raises(kind):
        omnigraph.init(tmp_path / "new", source)
    assert not (tmp_path / "new").exists()
    graph = boats(root)
    refused(graph, kind, lambda: graph.apply_schema(source))
    refused(graph, kind, lambda: graph.schema().plan(source))
