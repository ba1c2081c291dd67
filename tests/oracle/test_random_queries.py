"""What the differential test is fed: every random text is well typed, and most say something."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.query import coerce_params, compile_query
from omnigraph.query.logical.logical_plan import Pattern, ReadPlan
from omnigraph.schema import compile_schema
from oracle.naive import evaluate
from oracle.plain import plain_graph
from oracle.random_graphs import graphs
from oracle.random_queries import queries, rankings


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_texts_compile_and_run(data: st.DataObject) -> None:
    graph = data.draw(graphs(searchable=True))
    catalog = compile_schema(graph.schema)
    plain = plain_graph(catalog, graph.records)
    for random in (data.draw(queries(graph)), data.draw(rankings(graph))):
        query = compile_query(random.source, catalog)
        assert isinstance(query.ir, ReadPlan)
        evaluate(query.ir, plain, coerce_params(query, random.params))


def test_random_queries_use_the_whole_language() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=150, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def collect(data: st.DataObject) -> None:
        graph = data.draw(graphs())
        catalog = compile_schema(graph.schema)
        random = data.draw(queries(graph))
        query = compile_query(random.source, catalog)
        assert isinstance(query.ir, ReadPlan)
        rows = evaluate(
            query.ir, plain_graph(catalog, graph.records), coerce_params(query, random.params)
        )
        seen.update(features(query.ir))
        seen.update(["rows"] if rows else ["no rows"])

    collect()
    wanted = {"rows", "negation", "nested", "bounds", "undirected", "reverse", "edge", "filter"}
    wanted |= {"aggregate", "order", "limit", "predicate"}
    assert {name for name in wanted if seen[name] < 3} == set()


def features(plan: ReadPlan) -> set[str]:
    found = set(_of_pattern(plan.pattern))
    found |= {"aggregate"} if plan.group_by is not None else set()
    found |= {"order"} if plan.order else set()
    found |= {"limit"} if plan.limit is not None else set()
    return found


def _of_pattern(pattern: Pattern) -> set[str]:
    found: set[str] = {expand.direction for expand in pattern.expands}
    found |= {"bounds" for e in pattern.expands if not e.is_single_hop}
    found |= {"edge" for e in pattern.expands if e.edge}
    found |= {"filter"} if pattern.filters else set()
    found |= {"predicate"} if any(s.predicates for s in pattern.scans) else set()
    for negation in pattern.negations:
        found |= {"negation", *_of_pattern(negation.pattern)}
        found |= {"nested"} if negation.pattern.negations else set()
    return found
