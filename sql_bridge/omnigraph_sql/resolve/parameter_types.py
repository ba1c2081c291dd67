"""Parameters of a statement: their types, and the values bound to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference

Params: TypeAlias = Sequence[Any] | Mapping[str, Any] | pa.RecordBatch | None
BoundParameters: TypeAlias = dict[str, pa.Scalar]

_STRING_OPERATIONS = (
    *(exp.Interval, exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.DPipe, exp.SimilarTo),
)


# --------------------------------------------------------------------------- types


def parameter_schema(tree: exp.Expr, context: RewriteContext, given: Params = None) -> pa.Schema:
    """The parameters of a rewritten tree, each with the type that its place expects.

    Where no place does, it is the type of the value that is given, or text.
    """
    inference = TypeInference(context, guess=True)
    types: dict[int, pa.DataType] = {}
    for node in find_all(tree, exp.Parameter):
        number = int(node.name)
        type_ = _expected(node, context, inference)
        if type_ is not None and number not in types:
            types[number] = type_
    untyped = [n for n in range(1, len(context.parameters) + 1) if n not in types]
    if untyped and given is not None:
        own = _own_types(context.parameters, given)
        types.update({number: own[number - 1] for number in untyped})
    context.untyped = tuple(untyped)
    return pa.schema(
        pa.field(name, types.get(number, pa.string()))
        for number, name in enumerate(context.parameters, 1)
    )


def _own_types(names: Sequence[str], params: Params) -> list[pa.DataType]:
    """The types that values have of themselves; text where there is none."""
    if isinstance(params, pa.RecordBatch):
        types = list(arranged(names, params).schema.types)
    else:
        types = [_cast_value(value, None).type for value in values_of(names, params)]
    # DataFusion takes no null of a list's or a struct's type for a parameter.
    return [pa.string() if pa.types.is_nested(t) or t == pa.null() else t for t in types]


def fits(types: pa.Schema, untyped: Sequence[int], params: Params) -> bool:
    """Whether values have the types that a plan gave to parameters by earlier ones."""
    if not untyped or params is None:
        return True
    own = _own_types(types.names, params)
    return all(own[number - 1] == types.field(number - 1).type for number in untyped)


def _expected(node: exp.Expr, context: RewriteContext, types: TypeInference) -> pa.DataType | None:
    """The type that a place expects of a parameter, as far as it is known."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Neg | exp.Alias | exp.Tuple):
        if isinstance(parent, exp.Tuple) and isinstance(parent.parent, exp.Values):
            return _inserted(node, parent, context)
        node, parent = parent, parent.parent
    match parent:
        case exp.Cast():
            return arrow_type(parent.args["to"])
        case exp.Limit() | exp.Offset() | exp.Fetch():
            return pa.int64()
        case exp.Case() | exp.If():
            others = [i.args.get("true") for i in parent.args.get("ifs") or []]
            others.append(parent.args.get("default"))
            return types.first(o for o in others if o is not None and o is not node)
    if isinstance(parent, _STRING_OPERATIONS):
        return pa.string()
    if isinstance(parent, exp.Binary | exp.In | exp.Between | exp.Coalesce | exp.Nullif):
        return types.first(other for other in parent.iter_expressions() if other is not node)
    return None


def _inserted(node: exp.Expr, row: exp.Tuple, context: RewriteContext) -> pa.DataType | None:
    insert = row.find_ancestor(exp.Insert)
    if insert is None or context.target is None:
        return None
    position = next(i for i, value in enumerate(row.expressions) if value is node)
    target = insert.this
    if isinstance(target, exp.Schema):
        names = [column.name for column in target.expressions]
        return context.types.get(names[position].casefold()) if position < len(names) else None
    return context.target.field(position).type if position < len(context.target) else None


# --------------------------------------------------------------------------- values


def bindings(
    names: Sequence[str], params: Params, types: pa.Schema | None
) -> Iterator[BoundParameters]:
    """The values of each execution, by the number of the parameter. One, unless rows are given."""
    if isinstance(params, pa.RecordBatch):
        given = arranged(names, params).columns
        columns = [_cast_array(array, _type(types, i)) for i, array in enumerate(given)]
        for row in range(params.num_rows):
            yield {str(i): column[row] for i, column in enumerate(columns, 1)}
        return
    values = values_of(names, params)
    yield {str(i): _cast_value(value, _type(types, i - 1)) for i, value in enumerate(values, 1)}


_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)


def arranged(names: Sequence[str], params: _Rows) -> _Rows:
    """Bound rows with a column for each name, in their order: found by name, else by position."""
    given = list(params.schema.names)
    if given == list(names):
        return params
    if sorted(given) == sorted(names):
        return params.select(list(names))
    _require_count(names, len(given))
    known = [name for name in names if name in given]
    if known and not names[0].isdigit():
        missing = next(name for name in names if name not in given)
        raise _no_value(missing, names)
    return params.rename_columns(list(names))


def values_of(names: Sequence[str], params: Sequence[Any] | Mapping[str, Any] | None) -> list[Any]:
    """The value of each name: one for each, or they are refused."""
    if isinstance(params, Mapping):
        missing = [name for name in names if name not in params]
        if missing:
            raise _no_value(missing[0], names)
        return [params[name] for name in names]
    if isinstance(params, str | bytes):
        raise InvalidInput("parameters come as a list or by name", hint=f"Write [{params!r}].")
    values = list(params or ())
    _require_count(names, len(values))
    return values


def _no_value(name: str, names: Sequence[str]) -> InvalidInput:
    return InvalidInput(
        f"the parameter {name!r} has no value",
        hint=f"Give a value for each of {', '.join(names)}.",
    )


def _require_count(names: Sequence[str], given: int) -> None:
    if len(names) != given:
        raise InvalidInput(
            f"the statement has {len(names)} parameters, {given} values are given",
            hint="Give one value for each.",
        )


def _type(types: pa.Schema | None, index: int) -> pa.DataType | None:
    return None if types is None else types.field(index).type


def _cast_value(value: Any, expected: pa.DataType | None) -> pa.Scalar:  # noqa: ANN401
    """A value in the type that its place expects, or in its own where that loses something."""
    if value is None:
        return pa.scalar(None, expected or pa.string())
    if isinstance(value, UUID):
        value = str(value)
    try:
        own = value if isinstance(value, pa.Scalar) else pa.scalar(value)
    except (pa.ArrowException, OverflowError) as error:
        raise InvalidInput(f"{type(value).__name__} is not a value for SQL: {error}") from error
    if expected is None or own.type == expected:
        return own
    try:
        return own.cast(expected)
    except pa.ArrowException:
        return own


def _cast_array(array: pa.Array, expected: pa.DataType | None) -> pa.Array:
    if expected is None or array.type == expected:
        return array
    try:
        return array.cast(expected)
    except pa.ArrowException:
        return array if array.type != pa.null() else array.cast(pa.string())
