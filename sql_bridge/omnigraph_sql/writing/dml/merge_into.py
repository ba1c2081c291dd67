"""MERGE: one join decides what happens to every row.

The join gives, for each pair of a row of the target and one of the source (or a row of either that
has no match), the number of the clause that applies and the values it sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import called, column_of
from omnigraph_sql.frontend.sql_types import arrow_name
from omnigraph_sql.writing.dml.delete_update import HANDLE, assignments
from omnigraph_sql.writing.statement.column_mapping import (
    default_expressions,
    is_default,
    pick_columns,
)
from omnigraph_sql.writing.statement.row_sinks import Sink, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import rows_target

CLAUSE, PRESENT = "number of the clause", "source is present"

MatchKind = Literal["matched", "not matched", "not matched by source"]
MergeAction = Literal["update", "delete", "insert", "nothing"]


@dataclass(frozen=True)
class MergeClause:
    """One WHEN: to which rows it applies, and what it does to them."""

    match: MatchKind
    condition: exp.Expr | None
    action: MergeAction
    values: Mapping[str, exp.Expr]


@dataclass(frozen=True)
class MergeInto:
    """A MERGE whose clauses are resolved against the columns of both sides."""

    table: exp.Table
    source: exp.Expr
    source_alias: str
    on: exp.Expr
    clauses: Sequence[MergeClause]
    with_: exp.With | None = None

    @property
    def alias(self) -> str:
        """The name of the target in the statement."""
        return self.table.alias or self.table.name


def merge(work: WriteStatement, statement: exp.Merge) -> int:
    """Update, delete and insert rows as a source says; how many."""
    target = rows_target(work, statement.this)
    sink = sink_for(work, target)
    source, with_ = statement.args["using"], statement.args.get("with_")
    alias = source.alias_or_name
    if not alias:
        raise InvalidInput("the source of a MERGE needs a name", hint="Write USING (…) AS s.")
    query = exp.select("*").from_(source.copy())
    query.set("with_", with_.copy() if with_ is not None else None)
    reader = _ClauseReader(
        sink.schema,
        target.full,
        alias,
        {name.casefold(): name for name in work.schema_of(query).names},
        default_expressions(work, target),
    )
    clauses = [reader.clause(when) for when in statement.args["whens"].expressions]
    on = statement.args["on"]
    return run_merge(work, sink, MergeInto(statement.this, source, alias, on, clauses, with_))


# --------------------------------------------------------------------------- clauses


@dataclass(frozen=True)
class _ClauseReader:
    """Reads WHEN clauses over the columns of a target and a source."""

    schema: pa.Schema
    table: str
    source_alias: str
    source_columns: dict[str, str]
    """By folded name."""
    defaults: dict[str, exp.Expr]

    def clause(self, when: exp.When) -> MergeClause:
        match: MatchKind = "not matched"
        if when.args.get("matched"):
            match = "matched"
        elif when.args.get("source"):
            match = "not matched by source"
        then, condition = when.args["then"], when.args.get("condition")
        if condition is not None and match == "not matched":
            condition = self._of_source(condition)
        if isinstance(then, exp.Update):
            return MergeClause(match, condition, "update", self._updated(then))
        if isinstance(then, exp.Insert):
            if match != "not matched":
                raise InvalidInput("INSERT belongs to WHEN NOT MATCHED")
            given = self._inserted(then)
            values = {name: value for name, value in given.items() if not is_default(value)}
            return MergeClause(match, condition, "insert", {**self.defaults, **values})
        match then.name.upper():
            case "DELETE":
                return MergeClause(match, condition, "delete", {})
            case "DO NOTHING":
                return MergeClause(match, condition, "nothing", {})
        raise InvalidInput(f"{then.sql()} is not an action of a MERGE")

    def _updated(self, then: exp.Update) -> dict[str, exp.Expr]:
        match then.expressions:
            case [] | [exp.Star()]:
                return self._same_names()
        return assignments(then.expressions, self.schema, self.table)

    def _inserted(self, then: exp.Insert) -> dict[str, exp.Expr]:
        if isinstance(then.this, exp.Star) or then.this is None and then.expression is None:
            return self._same_names()
        given = then.expression.expressions if then.expression is not None else []
        values = [value if is_default(value) else self._of_source(value) for value in given]
        names = list(self.schema.names)[: len(values)]
        if isinstance(then.this, exp.Tuple):
            columns = then.this.expressions
            names = pick_columns((c.name for c in columns), self.schema, self.table)
        if len(names) != len(values):
            raise InvalidInput(f"{len(values)} values are given for {len(names)} columns")
        return dict(zip(names, values, strict=True))

    def _of_source(self, value: exp.Expr) -> exp.Expr:
        """An expression that sees the source alone: names without a table are its columns."""

        def qualified(part: exp.Expr) -> exp.Expr:
            if isinstance(part, exp.Column) and not part.table:
                part.set("table", exp.to_identifier(self.source_alias, quoted=True))
            return part

        return value.copy().transform(qualified, copy=False)

    def _same_names(self) -> dict[str, exp.Expr]:
        """UPDATE SET * and INSERT *: every column the source has too."""
        return {
            name: column_of(self.source_alias, self.source_columns[name.casefold()])
            for name in self.schema.names
            if name.casefold() in self.source_columns
        }


# --------------------------------------------------------------------------- running


def run_merge(work: WriteStatement, sink: Sink, merging: MergeInto) -> int:
    """Run a merge; how many rows it changed."""
    changed: list[pa.Array] = []
    count = 0
    for part in work.parts(_joined(sink, merging), merging.alias if sink.addresses else None):
        for number, clause in enumerate(merging.clauses, 1):
            rows = part.filter(pc.equal(part.column(CLAUSE), number))
            if not rows.num_rows or clause.action == "nothing":
                continue
            count += rows.num_rows
            if clause.action == "insert":
                work.record(sink.insert(rows.select(list(clause.values))))
                continue
            handles = rows.column(HANDLE)
            changed += handles.chunks
            if clause.action == "delete":
                sink.delete(handles)
                work.record(rows.select(sink.schema.names))
            else:
                work.record(sink.update(handles, rows.select(sink.schema.names)))
    _refuse_ambiguous(changed)
    return count


def _refuse_ambiguous(changed: Sequence[pa.Array]) -> None:
    """Refuse a row of the target that several rows of the source would change."""
    if not changed:
        return
    handles = pa.chunked_array(list(changed))
    if handles.type == pa.uint64():
        distinct = len(np.unique(handles.to_numpy()))
    else:
        distinct = pc.count_distinct(handles).as_py()
    if distinct != len(handles):
        raise InvalidInput(
            "a row of the target matches several rows of the source",
            hint="Make the source distinct in the columns that are compared.",
        )


def _joined(sink: Sink, merging: MergeInto) -> exp.Select:
    """The query that gives the handle, the clause and the new values of every row."""
    handle = column_of(merging.alias, sink.handle)
    # A column of the source that is null only where it has no row.
    marked = exp.select("*", called(exp.true(), PRESENT)).from_(merging.source.copy())
    source_alias = exp.TableAlias(this=exp.to_identifier(merging.source_alias))
    present = column_of(merging.source_alias, PRESENT)
    tests = [_applies(clause, handle, present) for clause in merging.clauses]
    number = exp.Case()
    for index, test in enumerate(tests, 1):
        number = number.when(test.copy(), exp.Literal.number(index))
    query = exp.select(
        called(handle, HANDLE),
        called(number.else_(exp.Literal.number(0)), CLAUSE),
        *(called(_new_value(field, merging, tests), field.name) for field in sink.schema),
    ).from_(merging.table.copy())
    matches = {clause.match for clause in merging.clauses}
    side = {
        (True, True): "FULL",
        (True, False): "RIGHT",
        (False, True): "LEFT",
        (False, False): None,
    }["not matched" in matches, "not matched by source" in matches]
    join = exp.Join(
        this=exp.Subquery(this=marked, alias=source_alias),
        on=merging.on.copy(),
        side=side,
        kind="OUTER" if side else "INNER",
    )
    query.append("joins", join)
    if merging.with_ is not None:
        query.set("with_", merging.with_.copy())
    return query


def _applies(clause: MergeClause, handle: exp.Expr, present: exp.Expr) -> exp.Expr:
    """Whether a clause applies to a row of the join, by which of its sides there are."""
    no_target = exp.Is(this=handle.copy(), expression=exp.Null())
    no_source = exp.Is(this=present.copy(), expression=exp.Null())
    test: exp.Expr = {
        "matched": exp.and_(exp.Not(this=no_target.copy()), exp.Not(this=no_source.copy())),
        "not matched": no_target,
        "not matched by source": no_source,
    }[clause.match]
    return test if clause.condition is None else exp.and_(test, clause.condition.copy())


def _new_value(field: pa.Field, merging: MergeInto, tests: Sequence[exp.Expr]) -> exp.Expr:
    """A column's new value: as the first clause that applies says, or the old one."""
    old = column_of(merging.alias, field.name)
    if all(c.action != "insert" and field.name not in c.values for c in merging.clauses):
        return old
    case = exp.Case()
    for clause, test in zip(merging.clauses, tests, strict=True):
        unset = exp.Null() if clause.action == "insert" else old
        value = clause.values.get(field.name, unset)
        case = case.when(test.copy(), cast_to(value, field.type))
    return case.else_(old.copy())


def cast_to(value: exp.Expr, type_: pa.DataType) -> exp.Expr:
    """A value in the type of its column, so that the branches of a CASE have one type."""
    try:
        name = arrow_name(type_)
    except InvalidInput:
        return value.copy()
    return exp.func("arrow_cast", value.copy(), exp.Literal.string(name))
