"""Expressions over rows: values as Arrow columns, conditions as masks in which null is false."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import constant, truth
from omnigraph.exec.evaluate.comparison import compare_arrays, compare_constant
from omnigraph.exec.evaluate.step_costs import Trace
from omnigraph.exec.graph.bindings import Bindings
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.query.logical.expressions import (
    MIRRORED,
    Bm25,
    Compare,
    Condition,
    Contains,
    Expr,
    Literal,
    Membership,
    Nearest,
    NodeRef,
    Now,
    Param,
    PropertyRef,
    Rrf,
    StartsWith,
    TextMatch,
    ranked_variable,
)
from omnigraph.query.logical.logical_plan import VariableInfo
from omnigraph.schema.model.arrow_schema import arrow_type, exact_values

if TYPE_CHECKING:
    from omnigraph.exec.evaluate.ranking_scores import RankingScores
    from omnigraph.exec.search.inverted_index import TextIndex


def is_constant(expr: object) -> bool:
    return isinstance(expr, Literal | Param | Now)


class Evaluator:
    """Evaluates over one view with the parameters and the instant of one run."""

    def __init__(self, view: GraphView, params: Mapping[str, Any], now: datetime) -> None:
        self.view = view
        self.params = params
        self.now = now
        self.variables: dict[str, VariableInfo] = {}
        self.trace: Trace | None = None
        self._text: dict[tuple[int, str], Mask] = {}

    def within(self, variables: Mapping[str, VariableInfo]) -> Evaluator:
        """The same for a block with these variables: what a name means ends with its block."""
        inner = Evaluator(self.view, self.params, self.now)
        inner.variables = {**self.variables, **variables}
        inner.trace, inner._text = self.trace, self._text
        return inner

    @cached_property
    def scores(self) -> RankingScores:
        """The scores of the block's ranking calls."""
        from omnigraph.exec.evaluate.ranking_scores import RankingScores

        return RankingScores(self)

    # ------------------------------------------------------------------ values

    def constant(self, expr: Expr) -> Any:  # noqa: ANN401
        """The value of a literal, a parameter or `now()`."""
        match expr:
            case Literal():
                return list(expr.value) if isinstance(expr.value, tuple) else expr.value
            case Param():
                return self.params[expr.name]
            case _:
                return self.now

    def column(self, expr: Expr, rows: Bindings) -> pa.Array:
        """The value of an expression in every row."""
        match expr:
            case PropertyRef():
                entities = self.view.entities(self.variables[expr.variable])
                return entities.values(expr.property, rows[expr.variable])
            case NodeRef():
                return self.view.nodes(expr.type_name).ids(rows[expr.variable])
            case TextMatch():
                return pa.array(self.test(expr, rows))
            case Literal() | Param() | Now():
                return constant(self.constant(expr), arrow_type(expr.type), rows.count)
            case Nearest() | Bm25() | Rrf():
                return self.scores.column(expr, rows[ranked_variable(expr)])
            case _:
                raise AssertionError(f"{type(expr).__name__} has no value of its own")

    # ------------------------------------------------------------------ conditions

    def test_all(self, conditions: Sequence[Condition], rows: Bindings) -> Mask:
        """Where every condition holds."""
        found = self.test(conditions[0], rows)
        for condition in conditions[1:]:
            found = found & self.test(condition, rows)
        return found

    def test(self, condition: Condition, rows: Bindings) -> Mask:
        """Where a condition holds."""
        match condition:
            case Compare():
                return self._compare(condition, rows)
            case Contains():
                return self._texts(
                    condition.text, condition.part, rows, pc.match_substring, str.__contains__
                )
            case StartsWith():
                return self._texts(
                    condition.text, condition.prefix, rows, pc.starts_with, str.startswith
                )
            case Membership():
                return self._membership(condition, rows)
            case TextMatch():
                return self._text_match(condition, rows)

    def _compare(self, condition: Compare, rows: Bindings) -> Mask:
        left, right, op = condition.left, condition.right, condition.operator
        if is_constant(left):
            left, right, op = right, left, MIRRORED[op]
        if is_constant(left) or not is_constant(right):
            return compare_arrays(op, self.column(left, rows), self.column(right, rows))
        value = self.constant(right)
        if value is None:
            return np.zeros(rows.count, np.bool_)
        return compare_constant(op, self.column(left, rows), value)

    def _texts(
        self,
        text: Expr,
        part: Expr,
        rows: Bindings,
        kernel: Callable[..., Any],
        each: Callable[[str, str], bool],
    ) -> Mask:
        if is_constant(part) and not is_constant(text):
            pattern = self.constant(part)
            if pattern is None:
                return np.zeros(rows.count, np.bool_)
            return truth(kernel(self.column(text, rows), pattern=pattern))
        texts, parts = (self.column(expr, rows).to_pylist() for expr in (text, part))
        pairs = zip(texts, parts, strict=True)
        return np.array(
            [t is not None and p is not None and each(t, p) for t, p in pairs], np.bool_
        )

    def _membership(self, condition: Membership, rows: Bindings) -> Mask:
        if is_constant(condition.list):
            return self._in_constant(condition, rows)
        lists = self.column(condition.list, rows)
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        elements = lists.flatten()
        owners = np.repeat(np.arange(rows.count), lengths)
        if is_constant(condition.item):
            value = self.constant(condition.item)
            if value is None:
                return np.zeros(rows.count, np.bool_)
            hits = compare_constant("=", elements, value)
        else:
            items = self.column(condition.item, rows)
            hits = compare_arrays("=", elements, items.take(pa.array(owners)))
        found = np.zeros(rows.count, np.bool_)
        found[owners[hits]] = True
        return found

    def _in_constant(self, condition: Membership, rows: Bindings) -> Mask:
        values = [v for v in self.constant(condition.list) or () if v is not None]
        items = self.column(condition.item, rows)
        known = pa.array(exact_values(values, items.type), items.type)
        return truth(pc.is_in(items, value_set=known, skip_nulls=True))

    def _text_match(self, condition: TextMatch, rows: Bindings) -> Mask:
        entities = self.view.loaded(self.variables[condition.field.variable])
        positions = entities.positions(rows[condition.field.variable])
        if is_constant(condition.query):
            query = self.constant(condition.query)
            none = np.zeros(rows.count, np.bool_)
            return none if query is None else self._text_matches(condition, query)[positions]
        # Each row has its own text to look for: one search for each text there is.
        queries = self.column(condition.query, rows).dictionary_encode()
        codes = queries.indices.fill_null(-1).to_numpy()
        found = np.zeros(rows.count, np.bool_)
        for code, query in enumerate(queries.dictionary.to_pylist()):
            same = np.flatnonzero(codes == code)
            found[same] = self._text_matches(condition, query)[positions[same]]
        return found

    def _text_matches(self, condition: TextMatch, query: str) -> Mask:
        """By position, which entities match a text; computed once in a run."""
        known = self._text.get((id(condition), query))
        if known is None:
            distance = None if condition.distance is None else self.constant(condition.distance)
            info = self.variables[condition.field.variable]
            index = text_index(self.view, info, condition.field.property)
            known = self._text[id(condition), query] = index.matches(
                query, condition.kind, distance
            )
        return known


def text_index(view: GraphView, info: VariableInfo, name: str) -> TextIndex:
    """The analysed form of a text property, made once per table version."""
    # PyStemmer is only loaded by those who search.
    from omnigraph.exec.search.inverted_index import TextIndex

    return view.loaded(info).derived(name, TextIndex)
