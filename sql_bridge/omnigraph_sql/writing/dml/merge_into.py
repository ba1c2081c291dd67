"""MERGE: one join decides the fate of every row.

The join gives, for each pair of a row of the target and one of the source (or a row of either that
has no partner), the number of the clause that applies and the values it sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import IdentifierPart, called, column_of
from omnigraph_sql.frontend.sql_types import arrow_name
from omnigraph_sql.writing.dml.delete_update import assignments
from omnigraph_sql.writing.statement.column_defaults import default_expressions, is_default
from omnigraph_sql.writing.statement.column_mapping import picked
from omnigraph_sql.writing.statement.row_sinks import Sink, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    WriteTarget,
    find_target,
    require,
    target_name,
)

HANDLE, CLAUSE, PRESENT = "handle of the row", "number of the clause", "source is present"

MatchKind = Literal["matched", "only source", "only target"]
MergeAction = Literal["update", "delete", "insert", "nothing"]


@dataclass(frozen=True)
class Clause:
    """One WHEN: to which rows it applies, and what it does to them."""

    match: MatchKind
    condition: exp.Expr | None
    action: MergeAction
    values: dict[str, exp.Expr]


@dataclass(frozen=True)
class Merging:
    """A merge in our own terms."""

    table: exp.Table
    source: exp.Expr
    source_alias: str
    on: exp.Expr
    clauses: Sequence[Clause]
    with_: exp.With | None = None


def merge(work: WriteStatement, statement: exp.Merge) -> int:
    """Update, delete and insert rows by what a source says; how many."""
    table = statement.this
    target = require(
        find_target(work.connection, work.snapshot, target_name(work.connection, table)),
        "table",
        "node",
        "edge",
    )
    sink = sink_for(work, target)
    source = statement.args["using"]
    alias = source.alias_or_name
    if not alias:
        raise InvalidInput("the source of a MERGE needs a name", hint="Write USING (…) AS s.")
    names = _source_columns(work, source, statement.args.get("with_"))
    defaults = default_expressions(work, target)
    clauses = [
        _with_defaults(_clause(when, sink, target, alias, names), defaults)
        for when in statement.args["whens"].expressions
    ]
    merging = Merging(
        table, source, alias, statement.args["on"], clauses, statement.args.get("with_")
    )
    return run_merge(work, sink, merging)


# --------------------------------------------------------------------------- clauses


def _clause(
    when: exp.When, sink: Sink, target: WriteTarget, alias: str, source_columns: Sequence[str]
) -> Clause:
    match: MatchKind = (
        "matched"
        if when.args.get("matched")
        else "only target"
        if when.args.get("source")
        else "only source"
    )
    then = when.args["then"]
    condition = when.args.get("condition")
    if condition is not None and match == "only source":
        condition = _of_source(condition, alias)
    if isinstance(then, exp.Update):
        return Clause(match, condition, "update", _set(then, sink, target, alias, source_columns))
    if isinstance(then, exp.Insert):
        if match != "only source":
            raise InvalidInput("INSERT belongs to WHEN NOT MATCHED")
        return Clause(
            match, condition, "insert", _inserted(then, sink, target, alias, source_columns)
        )
    word = then.name.upper()
    if word == "DELETE":
        return Clause(match, condition, "delete", {})
    if word == "DO NOTHING":
        return Clause(match, condition, "nothing", {})
    raise InvalidInput(f"{then.sql()} is no action of a MERGE")


def _with_defaults(clause: Clause, defaults: Mapping[str, exp.Expr]) -> Clause:
    """What an INSERT does not say, or leaves to DEFAULT, is what the table declares."""
    if clause.action != "insert":
        return clause
    said = {name: value for name, value in clause.values.items() if not is_default(value)}
    return replace(clause, values={**defaults, **said})


def _set(
    then: exp.Update, sink: Sink, target: WriteTarget, alias: str, source_columns: Sequence[str]
) -> dict[str, exp.Expr]:
    if (
        len(then.expressions) == 1
        and isinstance(then.expressions[0], exp.Star)
        or not then.expressions
    ):
        return _same_names(sink.schema, alias, source_columns)
    return assignments(then.expressions, sink.schema, target.full)


def _inserted(
    then: exp.Insert, sink: Sink, target: WriteTarget, alias: str, source_columns: Sequence[str]
) -> dict[str, exp.Expr]:
    if isinstance(then.this, exp.Star) or then.this is None and then.expression is None:
        return _same_names(sink.schema, alias, source_columns)
    given = then.expression.expressions if then.expression is not None else []
    values = [value if is_default(value) else _of_source(value, alias) for value in given]
    if isinstance(then.this, exp.Tuple):
        names = picked(
            (
                IdentifierPart(c.name, bool(c.this.args.get("quoted")))
                for c in then.this.expressions
            ),
            sink.schema,
            target.full,
        )
    else:
        names = list(sink.schema.names)[: len(values)]
    if len(names) != len(values):
        raise InvalidInput(f"{len(values)} values are given for {len(names)} columns")
    return dict(zip(names, values, strict=True))


def _of_source(value: exp.Expr, alias: str) -> exp.Expr:
    """An expression of a clause that sees the source alone: names without a table are its."""

    def qualified(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table:
            part.set("table", exp.to_identifier(alias, quoted=True))
        return part

    return value.copy().transform(qualified, copy=False)


def _same_names(schema: pa.Schema, alias: str, source: Sequence[str]) -> dict[str, exp.Expr]:
    """UPDATE SET * and INSERT *: every column the source has too."""
    folded = {name.casefold(): name for name in source}
    return {
        name: column_of(alias, folded[name.casefold()])
        for name in schema.names
        if name.casefold() in folded
    }


def _source_columns(work: WriteStatement, source: exp.Expr, with_: exp.With | None) -> list[str]:
    query = exp.select("*").from_(source.copy())
    if with_ is not None:
        query.set("with_", with_.copy())
    return list(work.schema_of(query).names)


# --------------------------------------------------------------------------- running


def run_merge(work: WriteStatement, sink: Sink, merging: Merging) -> int:
    query = _joined(sink, merging)
    alias = merging.table.alias or merging.table.name
    seen: list[pa.Array] = []
    count = 0
    for part in work.parts(query, alias if sink.addresses else None):
        for number, clause in enumerate(merging.clauses, 1):
            rows = part.filter(pc.equal(part.column(CLAUSE), number))
            if not rows.num_rows or clause.action == "nothing":
                continue
            count += rows.num_rows
            if clause.action == "insert":
                work.keep(sink.insert(rows.select(list(clause.values))))
                continue
            handles = rows.column(HANDLE)
            seen += handles.chunks
            if clause.action == "delete":
                sink.delete(handles)
                work.keep(rows.select(sink.schema.names))
            else:
                work.keep(sink.update(handles, rows.select(sink.schema.names)))
    _refuse_ambiguous(seen)
    return count


def _refuse_ambiguous(seen: Sequence[pa.Array]) -> None:
    """A row of the target that several rows of the source would change."""
    if not seen:
        return
    handles = pa.chunked_array(list(seen))
    if handles.type == pa.uint64():
        distinct = len(np.unique(handles.to_numpy()))
    else:
        distinct = pc.count_distinct(handles).as_py()
    if distinct != len(handles):
        raise InvalidInput(
            "a row of the target matches several rows of the source",
            hint="Make the source distinct in the columns that are compared.",
        )


def _joined(sink: Sink, merging: Merging) -> exp.Select:
    alias = merging.table.alias or merging.table.name
    handle = column_of(alias, sink.handle)
    present = column_of(merging.source_alias, PRESENT)
    query = exp.select(
        called(handle, HANDLE),
        called(_clause_number(merging.clauses, handle, present), CLAUSE),
        *_values(sink, merging, alias, handle, present),
    ).from_(merging.table.copy())
    join = exp.Join(this=_marked(merging), on=merging.on.copy())
    side, kind = _join_kind(merging.clauses)
    join.set("side", side)
    join.set("kind", kind)
    query.append("joins", join)
    if merging.with_ is not None:
        query.set("with_", merging.with_.copy())
    return query


def _marked(merging: Merging) -> exp.Subquery:
    """The source with a column that is null only where it has no row."""
    inner = exp.select("*", called(exp.true(), PRESENT)).from_(merging.source.copy())
    return exp.Subquery(
        this=inner, alias=exp.TableAlias(this=exp.to_identifier(merging.source_alias))
    )


def _join_kind(clauses: Sequence[Clause]) -> tuple[str | None, str | None]:
    matches = {clause.match for clause in clauses}
    if {"only source", "only target"} <= matches:
        return "FULL", "OUTER"
    if "only source" in matches:
        return "RIGHT", "OUTER"
    if "only target" in matches:
        return "LEFT", "OUTER"
    return None, "INNER"


def _applies(clause: Clause, handle: exp.Expr, present: exp.Expr) -> exp.Expr:
    there, given = _is_there(handle), _is_there(present)
    test: exp.Expr = {
        "matched": exp.and_(there, given),
        "only source": exp.Is(this=handle.copy(), expression=exp.Null()),
        "only target": exp.Is(this=present.copy(), expression=exp.Null()),
    }[clause.match]
    return test if clause.condition is None else exp.and_(test, clause.condition.copy())


def _is_there(column: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null()))


def _clause_number(clauses: Sequence[Clause], handle: exp.Expr, present: exp.Expr) -> exp.Case:
    case = exp.Case()
    for number, clause in enumerate(clauses, 1):
        case = case.when(_applies(clause, handle, present), exp.Literal.number(number))
    return case.else_(exp.Literal.number(0))


def _values(
    sink: Sink, merging: Merging, alias: str, handle: exp.Expr, present: exp.Expr
) -> list[exp.Expr]:
    """What each column becomes: as the first clause that applies says, or as it is."""
    found: list[exp.Expr] = []
    for field in sink.schema:
        case, said = exp.Case(), False
        for clause in merging.clauses:
            value = clause.values.get(field.name)
            if value is None and clause.action == "insert":
                value = exp.Null()
            if value is not None:
                said = True
            else:
                value = column_of(alias, field.name)
            case = case.when(_applies(clause, handle, present), cast_to(value, field.type))
        kept = column_of(alias, field.name)
        found.append(called(case.else_(kept) if said else kept, field.name))
    return found


def cast_to(value: exp.Expr, type_: pa.DataType) -> exp.Expr:
    """A value in the type of its column, so that the branches of a CASE agree."""
    try:
        name = arrow_name(type_)
    except InvalidInput:
        return value.copy()
    return exp.func("arrow_cast", value.copy(), exp.Literal.string(name))
