"""The graph in SQL: queries, traversals and searches as tables of one snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import InvalidInput, NotFound, ParseError
from sql.conftest import rows

NOTES = """
node Note { slug: String @key  body: String @index  vec: Vector(2)?  blob: Blob? }
edge Cites: Note -> Note
"""
QUERY = (
    "query of($slug: String) { match { $n: Note { slug: $slug }  $n cites $m } "
    "return { $m as id, $m.body as body } }"
)

SEVERAL = f"query all() {{ match {{ $n: Note }} return {{ $n.slug as slug }} }} {QUERY}"


@pytest.fixture
def notes(tmp_path: Path) -> omnigraph_sql.Connection:
    graph = omnigraph.init(str(tmp_path / "g"), NOTES)
    with graph.transaction() as txn:
        txn.insert(
            "Note",
            [
                {
                    "slug": "kite",
                    "body": "A red kite over the marsh",
                    "vec": [0.0, 0.0],
                    "blob": b"k",
                },
                {"slug": "fair", "body": "The kite festival", "vec": [1.0, 0.0]},
                {"slug": "bird", "body": "Marsh birds", "vec": [2.0, 0.0]},
            ],
        )
        txn.insert("Cites", [{"src": "kite", "dst": "fair"}, {"src": "fair", "dst": "bird"}])
    graph.register_queries(QUERY)
    return omnigraph_sql.connect(graph)


@pytest.mark.parametrize(
    ("call", "params"),
    [
        ("of('kite')", None),
        ("of(slug => 'kite')", None),
        ("""of('{"slug": "kite"}')""", None),
        ("of(slug => ?)", ["kite"]),
        ("of($1)", ["kite"]),
        (f"gq('{QUERY}', '{{\"slug\": \"kite\"}}')", None),
        (f"gq('{QUERY}', ?)", ['{"slug": "kite"}']),
        (f"gq('{SEVERAL}', '{{\"slug\": \"kite\"}}', name => 'of')", None),
        (f"gq('{SEVERAL}', '{{\"slug\": \"kite\"}}', 'of')", None),
        (f"gq('{QUERY}', ?)", [{"slug": "kite"}]),
    ],
)
def test_a_query_is_a_table(
    notes: omnigraph_sql.Connection, call: str, params: list[object] | None
) -> None:
    sql = f"SELECT f.id, n.body FROM {call} AS f JOIN note n ON n.id = f.id"
    assert rows(notes, sql, params) == [{"id": "fair", "body": "The kite festival"}]


def test_its_columns_are_known_before_its_parameters(notes: omnigraph_sql.Connection) -> None:
    statement = notes.prepare("SELECT * FROM of(slug => ?)")
    assert statement.result_schema is not None
    assert statement.result_schema.names == ["id", "body"]


def test_traverse_takes_seeds_from_a_query(notes: omnigraph_sql.Connection) -> None:
    sql = (
        "SELECT seed, id, depth FROM traverse('Cites', 'Note', "
        "seed => (SELECT id FROM note WHERE slug <> 'bird'), max => 2) ORDER BY 1, 3"
    )
    assert [tuple(row.values()) for row in rows(notes, sql)] == [
        ("fair", "bird", 1),
        ("kite", "fair", 1),
        ("kite", "bird", 2),
    ]
    both = "SELECT id FROM traverse('cites', 'Note', seed => ['fair'], direction => 'both')"
    assert len(rows(notes, both)) == 2


def test_nearest_and_bm25_rank(notes: omnigraph_sql.Connection) -> None:
    near = "SELECT id, distance FROM nearest('Note', 'vec', [0.2, 0], 2)"
    assert [row["id"] for row in rows(notes, near)] == ["kite", "fair"]
    bound = "SELECT slug FROM nearest('Note', 'vec', ?, 1)"
    assert rows(notes, bound, [[2.0, 0.0]]) == [{"slug": "bird"}]
    ranked = "SELECT slug FROM bm25('Note', 'body', 'marsh bird', 5) WHERE score > 0"
    assert [row["slug"] for row in rows(notes, ranked)] == ["bird", "kite"]


def test_functions_see_the_statements_snapshot(notes: omnigraph_sql.Connection) -> None:
    with notes.graph.transaction() as txn:
        txn.insert("Cites", [{"src": "kite", "dst": "bird"}])
    sql = "SELECT count(*) AS n FROM traverse('Cites', 'Note', seed => 'kite')"
    assert rows(notes, sql) == [{"n": 2}]
    assert rows(omnigraph_sql.connect(notes.graph, "main@v2"), sql) == [{"n": 1}]


def test_blobs_are_bytes(notes: omnigraph_sql.Connection) -> None:
    sql = "SELECT slug, blob FROM note WHERE slug IN ('kite', 'fair') ORDER BY slug"
    assert rows(notes, sql) == [{"slug": "fair", "blob": None}, {"slug": "kite", "blob": b"k"}]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT * FROM nothing_like_it('x')", NotFound),
        ("SELECT * FROM gq('query')", ParseError),
        ("SELECT * FROM gq('query a() { delete Note where slug = \"x\" }')", InvalidInput),
        ("SELECT * FROM gq()", InvalidInput),
        ("SELECT * FROM nearest('Note', 'vecs', [0, 0], 2)", NotFound),
        ("SELECT * FROM traverse('Nope', 'Note')", NotFound),
        (
            "SELECT * FROM traverse('Cites', 'Note', seed => 'kite', direction => 'up')",
            InvalidInput,
        ),
        ("SELECT * FROM of(slug => name)", InvalidInput),
        ("SELECT * FROM changes('main@v1', 'nowhere')", NotFound),
    ],
)
def test_wrong_calls_are_told(
    notes: omnigraph_sql.Connection, sql: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        rows(notes, sql)
