"""What branches show, read in full: indexes against rows, and the rules that rows must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from omnigraph.common.progress import Progress
from omnigraph.errors import OmniGraphError
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.constraints.whole_tables import BATCH_ROWS, whole_tables
from omnigraph.storage.core.model import Head, TablePointer
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.verify_finding import VerifyFinding
from omnigraph.storage.manifest.definitions import definition_key
from omnigraph.storage.plain.declared_checks import check_declared, check_required
from omnigraph.storage.plain.plain_table import PREFIX, declaration_of, plain_names
from omnigraph.storage.tables.compare_index import index_problems
from omnigraph.storage.tables.tables import TableStore, new_session

CACHES = {"index_cache_size_bytes": 16 << 20, "metadata_cache_size_bytes": 16 << 20}
"""Everything is read once: what Lance would remember of it only takes room."""
_Check = Callable[[], Iterable[VerifyFinding]]
"""One step: reads one table, once or a few times."""


def content_findings(
    store: GraphStore, heads: Sequence[Head], indexes: bool, on_progress: Progress | None
) -> Iterator[VerifyFinding]:
    """What is wrong with what branches show; states that several of them share are read once."""
    tables = TableStore(store.root, store.options, new_session(**CACHES))
    distinct = {(head.schema, frozenset(_pointers(head))): head for head in reversed(heads)}
    shown = sorted(distinct.values(), key=lambda head: head.branch)
    checks = [
        *(_index_checks(tables, shown) if indexes else ()),
        *(check for head in shown for check in _rule_checks(store, tables, head)),
    ]
    for number, check in enumerate(checks):
        if on_progress:
            on_progress(number, len(checks))
        yield from check()


def _pointers(head: Head) -> Iterator[tuple[str, TablePointer]]:
    return ((key, pointer) for key, pointer in head.tables.items())


def _index_checks(tables: TableStore, heads: Iterable[Head]) -> Iterator[_Check]:
    """Indexes of what branches show, against the rows; older ones are known by their bytes."""
    shown = {p.address: f"{h.branch} {key}" for h in heads for key, p in sorted(h.tables.items())}
    for version, where in shown.items():
        yield partial(_found, where, partial(index_problems, tables, version))


def _rule_checks(store: GraphStore, tables: TableStore, head: Head) -> Iterator[_Check]:
    """The rules of the schema and of plain tables, over everything a head shows."""

    def stored(key: str) -> StoredTable:
        pointer = head.tables[key]
        return StoredTable(tables, pointer.address, pointer.rows)

    catalog = store.catalog(head.schema)
    rules = whole_tables(catalog, stored)
    for type_ in catalog.types():
        where = f"{head.branch} {type_.table_key}"
        yield partial(_found, where, partial(_column_problems, stored(type_.table_key), type_))
    for rule in (rules.uniqueness, rules.endpoints, rules.cardinality):
        for type_ in rules.tables:
            where = f"{head.branch} {type_.table_key}"
            yield partial(_found, where, partial(_first_violation, rule, type_))
    for name in plain_names(head.tables):
        table = stored(PREFIX + name)
        where = f"{head.branch} {PREFIX}{name}"
        yield partial(_found, where, partial(_check_plain, store, head, name, table))


def _found(where: str, problems: Callable[[], Iterable[str]]) -> Iterator[VerifyFinding]:
    try:
        for problem in problems():
            yield VerifyFinding(where, problem)
    except OmniGraphError as error:
        yield VerifyFinding(where, error.message)


def _column_problems(table: StoredTable, type_: GraphType) -> Iterator[str]:
    names = table.tables.schema(table.version).names
    if names != table_schema(type_).names:
        yield f"its columns are {names}"


def _first_violation(
    rule: Callable[[GraphType], Iterator[OmniGraphError]], type_: GraphType
) -> Iterator[str]:
    first = next(rule(type_), None)
    if first is not None:
        yield first.message


def _check_plain(store: GraphStore, head: Head, name: str, table: StoredTable) -> Iterator[str]:
    """A plain table keeps what was declared about it; what it breaks is raised."""
    content_hash = head.definitions.get(definition_key("table", name))
    known = store.definition(definition_key("table", name), content_hash) if content_hash else None
    schema = table.tables.schema(table.version)
    required = [field.name for field in schema if not field.nullable]
    if required:
        for rows in table.batches(required, BATCH_ROWS):
            columns = pa.schema([schema.field(column) for column in required])
            check_required(columns, pa.Table.from_batches([rows]))
    check_declared(name, table, declaration_of(known), None, None)
    return iter(())
