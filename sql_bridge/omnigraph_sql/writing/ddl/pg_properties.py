"""Columns of SQL as properties of a `.pg` type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.schema import quote
from omnigraph_sql.frontend.identifiers import pick_name
from omnigraph_sql.writing.ddl.column_definitions import type_and_rules
from omnigraph_sql.writing.ddl.parse_create_type import CreateType

_ENDS = {"from": "src", "to": "dst", "src": "src", "dst": "dst"}
_SCALARS = {
    type_: name
    for name, types in {
        "I32": (pa.int8(), pa.int16(), pa.int32()),
        "I64": (pa.int64(),),
        "U32": (pa.uint8(), pa.uint16(), pa.uint32()),
        "U64": (pa.uint64(),),
        "F32": (pa.float16(), pa.float32()),
        "F64": (pa.float64(),),
        "Bool": (pa.bool_(),),
        "String": (pa.string(), pa.large_string(), pa.null()),
        "Date": (pa.date32(),),
        "Blob": (pa.binary(), pa.large_binary()),
    }.items()
    for type_ in types
}


@dataclass(frozen=True)
class TypeText:
    """A declaration, and the properties that the columns of a query go to."""

    text: str
    columns: tuple[str, ...]


def type_text(
    statement: CreateType,
    name: str,
    result: pa.Schema | None,
    node_types: Sequence[str],
) -> TypeText:
    """The `.pg` declaration of a CREATE NODE TABLE or CREATE EDGE TABLE."""
    is_edge = statement.kind == "edge"
    table = statement.create.this
    items = list(table.expressions) if isinstance(table, exp.Schema) else []
    columns = [item for item in items if isinstance(item, exp.ColumnDef)]
    rules = [item for item in items if not isinstance(item, exp.ColumnDef | exp.Identifier)]
    named = [item for item in items if isinstance(item, exp.Identifier)]
    declared = [item.name for item in columns or named]
    system = {"id", *_ENDS} if is_edge else {"id"}
    names = _column_names(declared, result, system)
    members = {c.name: property_type(c) for c in columns if c.name.lower() not in system}
    if not columns and result is not None:
        if len(names) != len(result):
            raise InvalidInput(f"{len(names)} columns are named and the query gives {len(result)}")
        members = {
            column: f"{column}: {pg_type(field.type, column)}?"
            for column, field in zip(names, result, strict=True)
            if column.lower() not in system
        }
    lines = _constrained(members, columns, rules, system)
    ends = [pick_name(end, node_types) or end for end in statement.ends or ()]
    head = f"edge {name}: {' -> '.join(ends)}" if is_edge else f"node {name}"
    body = "".join(f"  {line}\n" for line in lines)
    text = f"{head} {{\n{body}}}\n" if lines else f"{head}\n" if is_edge else f"{head} {{}}\n"
    properties = {"id": "id"} | (_ENDS if is_edge else {})
    return TypeText(text, tuple(properties.get(name.lower(), name) for name in names))


def _column_names(declared: list[str], result: pa.Schema | None, system: set[str]) -> list[str]:
    """The names of the query's columns: by position, or by name if it gives ids as well."""
    if result is None or len(declared) == len(result):
        return declared
    if not declared:
        return list(result.names)
    folded = {name.casefold(): name for name in declared}
    names = [folded.get(name.casefold(), name.lower()) for name in result.names]
    unknown = [name for name in names if name not in declared and name not in system]
    if unknown or not set(declared) <= set(names):
        raise InvalidInput(
            f"{len(declared)} columns are declared and the query gives {', '.join(result.names)}",
            hint="Declare each column that the query gives, besides id, src and dst.",
        )
    return names


def _constrained(
    members: dict[str, str],
    columns: Sequence[exp.ColumnDef],
    rules: Sequence[exp.Expr],
    system: set[str],
) -> list[str]:
    """The lines of the properties, and of the constraints over several of them."""
    lines: list[str] = []
    keys = [c.name for c in columns if c.find(exp.PrimaryKeyColumnConstraint) is not None][-1:]
    for rule in rules:
        inner = rule.expressions[0] if isinstance(rule, exp.Constraint) else rule
        match inner:
            case exp.PrimaryKey():
                keys = [part.name for part in inner.expressions]
            case exp.UniqueColumnConstraint():
                names = [part.name for part in inner.this.expressions]
                lines.append(f"@unique({', '.join(names)})")
            case exp.CheckColumnConstraint():
                lines.append(_check_rule(inner.this))
            case exp.ForeignKey():
                continue  # the ends of an edge declare it
            case _:
                raise InvalidInput(f"{rule.sql()} is not supported in a type of the graph")
    own = [key for key in keys if key.lower() not in system]
    for key in own:
        member = next((name for name in members if name.lower() == key.lower()), None)
        if member is None:
            raise InvalidInput(f"the key names {key!r}, which is not a column")
        members[member] = members[member].replace("?", "", 1)
    if own:
        lines.append(f"@key({', '.join(own)})")
    return [*members.values(), *lines]


def property_type(column: exp.ColumnDef) -> str:
    """One property: `name: Type? @annotations`."""
    name, nullable, annotations = column.name, True, []
    type_, rules = type_and_rules(column)
    for rule in rules:
        match rule:
            case exp.NotNullColumnConstraint():
                nullable = bool(rule.args.get("allow_null"))
            case exp.PrimaryKeyColumnConstraint():
                nullable = False
            case exp.UniqueColumnConstraint():
                annotations.append("@unique")
            case exp.CommentColumnConstraint():
                annotations.append(f"@description({quote(rule.this.name)})")
            case exp.DefaultColumnConstraint():
                annotations.append(f"@default({_literal(rule.this, name)})")
            case exp.CheckColumnConstraint() | exp.Reference():
                raise InvalidInput(
                    f"{rule.sql()} is not supported at a column of a type",
                    hint="Write CHECK after the columns.",
                )
    declared = f"{name}: {pg_type(type_, name)}{'?' if nullable else ''}"
    return " ".join((declared, *annotations))


def pg_type(type_: pa.DataType, column: str) -> str:
    """The property type that holds the values of an Arrow type."""
    if type_ in _SCALARS:
        return _SCALARS[type_]
    if pa.types.is_timestamp(type_):
        return "DateTime"
    if pa.types.is_decimal(type_):
        return "I64" if type_.scale == 0 and type_.precision <= 18 else "F64"
    if pa.types.is_fixed_size_list(type_) and pa.types.is_floating(type_.value_type):
        return f"Vector({type_.list_size})"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"[{pg_type(type_.value_type, column)}]"
    raise InvalidInput(
        f"a property cannot hold {type_} ({column!r})", hint="Cast it, or keep it in a plain table."
    )


def _check_rule(condition: exp.Expr) -> str:
    """A CHECK that `.pg` can express: a range of a number, or a pattern of a text."""
    inner = condition.this if isinstance(condition, exp.Paren) else condition
    match inner:
        case exp.Between():
            low, high = inner.args["low"], inner.args["high"]
            return f"@range({inner.this.name}, {_number(low)}..{_number(high)})"
        case exp.GTE():
            return f"@range({inner.this.name}, {_number(inner.expression)}..)"
        case exp.LTE():
            return f"@range({inner.this.name}, ..{_number(inner.expression)})"
        case exp.RegexpLike():
            return f"@check({inner.this.name}, {quote(inner.expression.name)})"
    raise InvalidInput(
        f"CHECK ({inner.sql()}) is not supported in a type of the graph",
        hint="Write x BETWEEN a AND b, x >= a, x <= b or x ~ 'pattern'.",
    )


def _number(value: exp.Expr) -> str:
    negative = isinstance(value, exp.Neg)
    literal = value.this if negative else value
    if not isinstance(literal, exp.Literal) or literal.is_string:
        raise InvalidInput(f"{value.sql()} is not a number")
    return f"{'-' if negative else ''}{literal.name}"


def _literal(value: exp.Expr, column: str) -> str:
    if isinstance(value, exp.Boolean):
        return str(bool(value.this)).lower()
    if isinstance(value, exp.Literal) and value.is_string:
        return quote(value.name)
    try:
        return _number(value)
    except InvalidInput:
        raise InvalidInput(
            f"the default of {column!r} is not a literal", hint="Use a literal."
        ) from None
