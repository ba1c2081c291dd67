"""Every table name becomes a table version of a pinned snapshot, or what stands for it."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput, NotFound
from omnigraph.tables import ADDRESS, ReadableTable
from omnigraph_sql.catalog.find_relation import Relation, ViewText, find_relation
from omnigraph_sql.frontend.identifiers import called, column_of, name_parts, quoted
from omnigraph_sql.frontend.parser import parse_one
from omnigraph_sql.frontend.sql_types import arrow_name
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import cte_of
from omnigraph_sql.resolve.rewrite_context import MAX_EXPANSION, Read, RewriteContext
from omnigraph_sql.rewrite.names.bind_table_functions import bind_table_functions
from omnigraph_sql.rewrite.shapes.normalize_syntax import normalize_syntax


def resolve_tables(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Resolve each table that is not a name of the statement's own WITH.

    SELECT main.person.name FROM main.person
    -> SELECT person.name FROM "person@…" AS "Person"

    Above a RIGHT or FULL join DataFusion pushes conditions to the wrong side, unless what stands
    there is a scan of the store, which takes none.
    """
    if any(join.side in ("RIGHT", "FULL") for join in find_all(tree, exp.Join)):
        context.may_cache = False
    for table in [found for found in find_all(tree, exp.Table) if cte_of(found) is None]:
        if isinstance(table.this, exp.Identifier) and table.name not in context.temporary_names:
            _resolve(table, context)
    for column in find_all(tree, exp.Column):
        _drop_qualifiers(column, context)
    return tree


def _resolve(table: exp.Table, context: RewriteContext) -> None:
    parts = name_parts(table)
    computed = context.computed_rows.get(parts[0]) if len(parts) == 1 else None
    if computed is not None:
        relation = Relation(parts[0], computed)
    else:
        relation = find_relation(context.pins, context.schema, parts)
    alias = _alias(table, relation.name)
    columns = alias.args.get("columns")
    if columns and relation.schema is not None:
        replacement: exp.Expr = _columns_called(relation, relation.schema, alias, context)
        alias.set("columns", None)
    else:
        replacement = _source(relation, alias.name, context)
    replacement.set("alias", alias)
    for extra in ("joins", "pivots", "sample", "laterals"):
        if table.args.get(extra):
            replacement.set(extra, table.args[extra])
    table.replace(replacement)


def _columns_called(
    relation: Relation, schema: pa.Schema, alias: exp.TableAlias, context: RewriteContext
) -> exp.Subquery:
    """`FROM t AS a(x, y)`: the first columns are called so, the others as they are."""
    named = [column.name for column in alias.args["columns"]]
    if len(named) > len(schema):
        raise InvalidInput(
            f"{relation.name} has {len(schema)} columns, but {len(named)} are named",
            hint="Name at most as many as there are.",
        )
    inner = f"{alias.name} as it is"
    source = _source(relation, inner, context)
    source.set("alias", exp.TableAlias(this=quoted(inner)))
    names = [*named, *schema.names[len(named) :]]
    renamed = [field.with_name(name) for field, name in zip(schema, names, strict=True)]
    context.sources[alias.name.casefold()] = pa.schema(renamed)
    columns = (
        called(column_of(inner, field.name), name)
        for field, name in zip(schema, names, strict=True)
    )
    return exp.Subquery(this=exp.select(*columns).from_(source))


def _alias(table: exp.Table, name: str) -> exp.TableAlias:
    alias = table.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.this:
        return alias
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return exp.TableAlias(this=quoted(name), columns=columns)


def _source(relation: Relation, alias: str, context: RewriteContext) -> exp.Expr:
    rows = relation.rows
    if isinstance(rows, ViewText):
        return _expanded(relation.name, rows, context)
    context.know(alias, rows.schema)
    if not isinstance(rows, ReadableTable):
        context.cacheable = False
        return exp.Table(this=quoted(context.register_temporary(rows)))
    context.tables.append(rows)
    addresses = alias.casefold() == (context.addresses_of or "").casefold()
    if context.part is not None:
        table = exp.Table(this=quoted(context.register_temporary(rows, context.part)))
    else:
        read = Read(rows, addresses, context.may_cache)
        context.reads[read.name] = read
        table = exp.Table(this=quoted(read.name))
    if addresses:
        context.know_fields([pa.field(ADDRESS, pa.uint64())])
    context.registered[table.name] = rows.schema
    return _renamed(table, rows, addresses) if rows.renamed else table


def _renamed(table: exp.Table, rows: ReadableTable, addresses: bool) -> exp.Subquery:
    """A version whose columns were called or typed otherwise when it was written."""
    columns: list[exp.Expr] = []
    for field in rows.schema:
        value: exp.Expr = column_of(None, rows.stored[field.name])
        if field.type != rows.stored_type(field.name):
            value = exp.func("arrow_cast", value, exp.Literal.string(arrow_name(field.type)))
        columns.append(called(value, field.name))
    if addresses:
        columns.append(column_of(None, ADDRESS))
    return exp.Subquery(this=exp.select(*columns).from_(table))


def _expanded(name: str, view: ViewText, context: RewriteContext) -> exp.Subquery:
    context.expansions += 1
    expansion = context.expansions
    if context.expansions > MAX_EXPANSION:
        raise InvalidInput(f"the view {name} is nested too deeply, or refers to itself")
    current, schema = context.pins.current, context.schema
    context.pins.current, context.schema = view.catalog, view.schema
    try:
        text = normalize_syntax(parse_one(view.sql, view.dialect).tree.copy(), context)
        tree = bind_table_functions(text, context)
        resolve_tables(tree, context)
        _own_withs(tree, expansion)
    except (InvalidInput, NotFound) as error:
        raise InvalidInput(
            f"the view {name} cannot be read: {error.message}",
            hint="Something it needs was changed or dropped; replace the view.",
        ) from error
    finally:
        context.pins.current, context.schema = current, schema
    return exp.Subquery(this=tree)


def _own_withs(tree: exp.Expr, expansion: int) -> None:
    """Give a view's WITHs names of their own: DataFusion wants each name once per statement."""
    for table in [found for found in find_all(tree, exp.Table) if cte_of(found) is not None]:
        if not table.alias:
            table.set("alias", exp.TableAlias(this=quoted(table.name)))
        table.set("this", quoted(f"{table.name.casefold()} of {expansion}"))
    for cte in find_all(tree, exp.CTE):
        cte.args["alias"].set("this", quoted(f"{cte.alias.casefold()} of {expansion}"))


def _drop_qualifiers(column: exp.Column, context: RewriteContext) -> None:
    """`main.nodes.Person.name` is `Person.name`."""
    if column.args.get("db") and column.table.casefold() in context.sources:
        column.set("db", None)
        column.set("catalog", None)
