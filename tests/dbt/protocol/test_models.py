"""What models promise of their rows, beyond what dbt's own suite asks of every adapter."""

from __future__ import annotations

import json
from collections.abc import Callable

from support.dbt_projects import Project

Projects = Callable[..., Project]
Read = Callable[..., list[tuple[object, ...]]]
Branches = Callable[[], list[str]]

DELIVERY = """
{% if var('delivery') == 1 %}
select * from (values (1, 'a', 10), (2, 'b', 20), (4, 'b', 40)) as s(id, part, v)
{% else %}
select * from (values (2, 'b', 21), (3, 'b', 30)) as s(id, part, v)
{% endif %}
"""
FIRST = [(1, "a", 10), (2, "b", 20), (4, "b", 40)]
SECOND = [(2, "b", 21), (3, "b", 30)]


def test_each_incremental_strategy_does_what_it_is_called(project: Projects, rows: Read) -> None:
    strategies = {
        "appended": ("append", ""),
        "deleted_and_inserted": ("delete+insert", "unique_key='id',"),
        "merged": ("merge", "unique_key='id',"),
        "overwritten": ("insert_overwrite", "partition_by='part',"),
    }
    config = "{{ config(materialized='incremental', %s incremental_strategy='%s') }}"
    models = {name: config % (more, how) + DELIVERY for name, (how, more) in strategies.items()}
    built = project("incremental", models)
    built.write({"snapshots/kept.sql": SNAPSHOT})
    for delivery in (1, 2):
        run = built.dbt("build", "--vars", f"delivery: {delivery}")
        assert run.code == 0, run.output

    upserted = [(1, "a", 10), (2, "b", 21), (3, "b", 30), (4, "b", 40)]
    assert _rows_of(rows, "appended") == sorted(FIRST + SECOND)
    assert _rows_of(rows, "deleted_and_inserted") == upserted
    assert _rows_of(rows, "merged") == upserted
    assert _rows_of(rows, "overwritten") == [(1, "a", 10), *SECOND]
    # Of (2, …) both, of the others the one that there was.
    assert rows("select count(*), count(dbt_valid_to) from analytics.kept") == [(5, 1)]
    tables = rows("select table_name from information_schema.tables where table_schema='analytics'")
    assert {row[0] for row in tables} == {*strategies, "kept"}, "scratch tables were published"


SNAPSHOT = (
    "{% snapshot kept %}{{ config(unique_key='id', strategy='check', check_cols=['v'],"
    " schema='analytics', target_schema='analytics') }}" + DELIVERY + "{% endsnapshot %}"
)


def test_a_contract_of_a_node_is_enforced(project: Projects, rows: Read) -> None:
    """Each rule refuses the rows that break it; the same rows pass without the rule."""
    broken = {
        "not_null": "select 'a' as id, cast(null as bigint) as n",
        "unique": "select id, cast(1 as bigint) as n from (values ('a'), ('b')) as v(id)",
        "check": "select 'a' as id, cast(0 as bigint) as n",
    }
    rules = {
        "not_null": {"type": "not_null"},
        "unique": {"type": "unique"},
        "check": {"type": "check", "expression": "n >= 1"},
    }
    built = project("contracts", {f"{name}_broken": sql for name, sql in broken.items()})
    built.write({f"models/{name}_free.sql": sql for name, sql in broken.items()})
    models = [
        _contract(f"{name}_{kind}", f"T{name.replace('_', '')}{kind}", given)
        for name, rule in rules.items()
        for kind, given in (("broken", [rule]), ("free", []))
    ]
    built.write({"models/properties.yml": json.dumps({"models": models})})
    run = built.dbt("run")
    assert run.code == 1
    statuses = {name.removeprefix("model.project."): how for name, how in built.results().items()}
    assert statuses == {
        **{f"{name}_broken": "error" for name in rules},
        **{f"{name}_free": "success" for name in rules},
    }, run.output


def _contract(name: str, type_name: str, rules: list[dict[str, str]]) -> dict[str, object]:
    return {
        "name": name,
        "config": {
            "materialized": "node",
            "type_name": type_name,
            "contract": {"enforced": True},
        },
        "columns": [
            {"name": "id", "data_type": "text"},
            {"name": "n", "data_type": "bigint", "constraints": rules},
        ],
    }


def test_the_tests_for_graphs_find_what_they_are_for(
    project: Projects, rows: Read, branches: Branches
) -> None:
    graph_tests = [
        {"no_self_loops": {}},
        {"cardinality": {"arguments": {"at_most": 1}}},
    ]
    end_tests = [
        {"edge_endpoints_exist": {"arguments": {"to": "ref('person')"}}},
        {"relationships": {"arguments": {"to": "ref('person')", "field": "id"}}},
    ]
    models = [
        {
            "name": name,
            "data_tests": graph_tests,
            "columns": [{"name": "dst", "data_tests": end_tests}],
        }
        for name in ("good", "bad")
    ]
    built = project(
        "tested",
        {
            "person": "select 'a' as id union all select 'b'",
            "good": "select 'a' as src, 'b' as dst",
            "bad": "select * from (values ('a', 'a'), ('a', 'ghost')) as e(src, dst)",
        },
    )
    built.write({"models/properties.yml": json.dumps({"models": models})})
    assert built.dbt("run").code == 0
    tested = built.dbt("test", "--store-failures")
    assert tested.code == 1
    found = {name.split(".")[2]: how for name, how in built.results().items()}
    assert len(found) == 8
    assert {name: how for name, how in found.items() if ("bad" in name) == (how == "pass")} == {}

    (kept,) = branches()
    schema = "analytics_dbt_test__audit"
    stored = rows(
        f"select table_name from information_schema.tables where table_schema='{schema}'", kept
    )
    ghosts = next(str(name) for (name,) in stored if "bad" in str(name) and "exist" in str(name))
    assert rows(f'select * from {schema}."{ghosts}"', kept) == [("ghost",)]


def test_nodes_and_edges_are_merged_or_appended_where_they_say_so(
    project: Projects, rows: Read
) -> None:
    built = project(
        "loads",
        {
            "merged": "{{ config(materialized='node', type_name='Merged', load='merge') }}"
            " select * from (values ('a', {{ var('v') }}), ('n{{ var('v') }}', 0)) as s(id, v)",
            "appended": "{{ config(materialized='node', type_name='Appended', load='append') }}"
            " select 'n{{ var('v') }}' as id",
            "link": "{{ config(materialized='edge', type_name='Link', load='merge',"
            " from_type='Merged', to_type='Merged') }} -- {{ ref('merged') }}\n"
            " select 'a' as src, 'n1' as dst, {{ var('v') }} as weight",
        },
    )
    for v in (1, 2):
        run = built.dbt("run", "--vars", f"v: {v}")
        assert run.code == 0, run.output
    assert rows("select id, v from nodes.Merged order by id") == [("a", 2), ("n1", 0), ("n2", 0)]
    assert rows("select id from nodes.Appended order by id") == [("n1",), ("n2",)]
    assert rows("select src, dst, weight from edges.Link") == [("a", "n1", 2)]


def _rows_of(rows: Read, name: str) -> list[tuple[object, ...]]:
    return rows(f"select id, part, v from analytics.{name} order by id, v")
