"""SHOW and DESCRIBE as queries over information_schema and system."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.frontend.identifiers import name_parts
from omnigraph_sql.frontend.parser import parse_one

_COLUMNS = (
    "SELECT column_name, data_type, is_nullable, column_comment "
    "FROM {catalog}information_schema.columns WHERE "
)
_LISTS = {
    "BRANCHES": "SELECT * FROM system.branches ORDER BY name",
    "CATALOGS": "SELECT name AS catalog_name FROM system.branches ORDER BY name",
    "DATABASES": "SELECT name AS catalog_name FROM system.branches ORDER BY name",
    "TAGS": "SELECT * FROM system.tags ORDER BY name",
    "QUERIES": "SELECT * FROM system.queries ORDER BY name",
    "LOG": "SELECT * FROM system.commits ORDER BY version DESC",
    "SCHEMAS": "SELECT schema_name FROM information_schema.schemata",
}
_SETTINGS = {
    "SEARCH_PATH": "public",
    "SERVER_VERSION": "16.0",
    "SERVER_ENCODING": "UTF8",
    "CLIENT_ENCODING": "UTF8",
    "STANDARD_CONFORMING_STRINGS": "on",
    "TIMEZONE": "UTC",
    "TIME ZONE": "UTC",
    "DATESTYLE": "ISO, YMD",
    "TRANSACTION ISOLATION LEVEL": "repeatable read",
    "DEFAULT_TRANSACTION_ISOLATION": "repeatable read",
    "DEFAULT_TRANSACTION_READ_ONLY": "off",
    "MAX_IDENTIFIER_LENGTH": "1024",
    "INTEGER_DATETIMES": "on",
}
"""The settings that clients of other databases read when they connect."""


def as_query(tree: exp.Expr, schema: str) -> exp.Expr:
    """SHOW, DESCRIBE, VALUES and PIVOT as queries; any other statement as it is."""
    if isinstance(tree, exp.Command) and str(tree.this).upper() == "SHOW":
        return _shown(str(tree.expression), schema)
    if isinstance(tree, exp.Describe) and isinstance(tree.this, exp.Table):
        return _described(tree.this)
    if isinstance(tree, exp.Values):
        return _selected(tree)
    if isinstance(tree, exp.Pivot):
        pivoted = exp.Subquery(this=tree.copy(), alias=exp.TableAlias(this=exp.to_identifier("p")))
        query = exp.select("*").from_(pivoted)
        query.set("with_", pivoted.this.args.pop("with_", None))
        return query
    return tree


def _selected(values: exp.Values) -> exp.Expr:
    """`VALUES …` alone, as a SELECT from it."""
    rows = values.copy()
    order, limit = rows.args.pop("order", None), rows.args.pop("limit", None)
    width = len(rows.expressions[0].expressions)
    names = [exp.to_identifier(f"column{number}") for number in range(1, width + 1)]
    rows.set("alias", exp.TableAlias(this=exp.to_identifier("values_"), columns=names))
    query = exp.select("*").from_(rows)
    query.set("order", order)
    query.set("limit", limit)
    return query


def _query(text: str) -> exp.Expr:
    return parse_one(text, "postgres").tree


def _shown(text: str, schema: str) -> exp.Expr:
    words = text.rstrip(";").split()
    upper = [word.upper() for word in words]
    match upper:
        case [what] if what in _LISTS:
            return _query(_LISTS[what])
        case ["LOG", *rest]:
            catalog = _name(words[-1]) if rest[0] in ("FROM", "IN", "FOR") else _name(words[1])
            return _query(f"SELECT * FROM {catalog}.system.commits ORDER BY version DESC")
        case ["SCHEMAS", "FROM" | "IN", _]:
            return _query(f"SELECT schema_name FROM {_name(words[2])}.information_schema.schemata")
        case ["TABLES" | "VIEWS" as what]:
            schemas = ", ".join(f"'{one}'" for one in dict.fromkeys((schema, NODES, EDGES)))
            return _query(_tables(what, f"table_schema IN ({schemas})"))
        case ["TABLES" | "VIEWS" as what, "FROM" | "IN", _]:
            return _query(_tables(what, f"lower(table_schema) = lower({_text(words[2])})"))
        case ["COLUMNS", "FROM" | "IN", _]:
            return _described(exp.to_table(words[2], dialect="postgres"))
    setting = " ".join(upper)
    if setting in _SETTINGS:
        name = words[-1].lower() if len(words) == 1 else "transaction_isolation"
        return _query(f"SELECT '{_SETTINGS[setting]}' AS {name}")
    raise InvalidInput(
        f"SHOW {text} is not supported",
        hint="Use BRANCHES, LOG, TAGS, CATALOGS, SCHEMAS, TABLES, VIEWS, COLUMNS FROM t, QUERIES.",
    )


def _tables(what: str, condition: str) -> str:
    only = " AND table_type = 'VIEW'" if what == "VIEWS" else ""
    return (
        "SELECT table_schema, table_name, kind, row_count, table_comment "
        f"FROM information_schema.tables WHERE {condition}{only} ORDER BY 1, 2"
    )


def _described(table: exp.Table) -> exp.Expr:
    parts = name_parts(table)
    condition = f"lower(table_name) = lower({_text(parts[-1])})"
    if len(parts) > 1:
        condition += f" AND lower(table_schema) = lower({_text(parts[-2])})"
    catalog = f"{_name(parts[0])}." if len(parts) > 2 else ""
    return _query(_COLUMNS.format(catalog=catalog) + condition + " ORDER BY ordinal_position")


def _name(word: str) -> str:
    return exp.to_identifier(word.strip('"`'), quoted=True).sql("postgres")


def _text(word: str) -> str:
    return exp.Literal.string(word.strip("\"`'")).sql("postgres")
