"""A statement: parsed once, run any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.tables import ReadableTable
from omnigraph_sql.catalog.access_guard import AccessRequest
from omnigraph_sql.catalog.find_relation import find_relation
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.catalog.show_describe import as_query
from omnigraph_sql.datafusion.computed_table import table_of
from omnigraph_sql.frontend.identifiers import name_parts
from omnigraph_sql.frontend.parser import Parsed, parse_one
from omnigraph_sql.frontend.sql_types import sql_name
from omnigraph_sql.planning.parallel_slices import is_sliceable, part_of
from omnigraph_sql.planning.plan_query import plan_query
from omnigraph_sql.planning.planned_query import PlannedQuery
from omnigraph_sql.resolve.parameter_types import Params, fits, parameter_schema
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.target_schema import target_schema
from omnigraph_sql.rewrite.names.number_parameters import number_parameters
from omnigraph_sql.session.session_statements import run_session_statement
from omnigraph_sql.writing import run, run_with_rows
from omnigraph_sql.writing.dml.returning import returned_schema, returns_rows
from omnigraph_sql.writing.statement.write_target import target_name

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

_DESCRIPTION = pa.schema(
    [("column_name", pa.string()), ("data_type", pa.string()), ("is_nullable", pa.string())]
)


class Statement:
    """One statement of a session. Everything it reads, it reads at one moment per catalog."""

    def __init__(self, connection: Connection, parsed: Parsed) -> None:
        self.connection = connection
        self.sql = parsed.text
        self._written = parsed.tree
        self._prefix, tree = _without_explain(connection, parsed.tree)
        self._tree = as_query(tree, connection.schema)
        self._returns = returns_rows(tree)
        self._pins: PinnedSnapshots | None = None
        self._planned: PlannedQuery | None = None

    @property
    def is_update(self) -> bool:
        """Whether it changes something and gives a count instead of rows."""
        return not isinstance(self._tree, exp.Query | exp.Describe) and not self._returns

    @property
    def changes(self) -> bool:
        """Whether it changes something, also if it gives the changed rows."""
        return self.is_update or self._returns

    @property
    def target(self) -> str:
        """The branch that one with RETURNING writes to; of others, the session's own."""
        connection = self.connection
        if not self._returns:
            return connection.catalog
        return target_name(connection, self._tree.this).catalog

    @property
    def touched(self) -> frozenset[AccessRequest]:
        """What a query reads, as far as it was planned."""
        return frozenset(self._planned.pins.touched if self._planned else ())

    @property
    def result_schema(self) -> pa.Schema | None:
        """The columns of its rows, without running it; none for an update."""
        if self.is_update:
            return None
        if isinstance(self._tree, exp.Describe):
            return _DESCRIPTION
        if self._returns:
            return returned_schema(self.connection, self._tree)
        return self._plan().schema

    @property
    def parameter_schema(self) -> pa.Schema:
        """Its parameters: `1`, `2`, … or their names, each with a type."""
        if not self.is_update and isinstance(self._tree, exp.Query):
            return self._plan().parameters
        connection = self.connection
        scope = RewriteContext(
            connection.pins(), connection.schema, connection.dialect, connection.datafusion
        )
        tree = number_parameters(self._tree.copy(), scope)
        target_schema(tree, scope)
        return parameter_schema(tree, scope)

    def execute(self, params: Params = None) -> pa.RecordBatchReader | int:
        """Its rows at the newest moment, or how many rows it changed."""
        if run_session_statement(self.connection, self._tree):
            return 0
        if self._returns:
            return run_with_rows(self.connection, self._tree.copy(), params, self.sql)
        if self.is_update:
            return run(self.connection, self._tree.copy(), params, self.sql)
        self._require_existing()
        if isinstance(self._tree, exp.Describe):
            return self._described()
        execution = self.connection.start()
        return self._plan(newest=True, params=params).run(params, execution)

    def single_row(self, params: Params = None) -> pa.Table | None:
        """Its row, if there is certainly at most one and it is found at once."""
        if self.changes or self._prefix or isinstance(self._written, exp.Describe):
            return None
        return self._plan(newest=True, params=params).single_row(params)

    def pinned(self) -> str:
        """The moment of the session's catalog that its reads see."""
        if not self.is_update and not self._returns:
            self._plan()
        snapshot = self._moments().snapshot()
        return f"{snapshot.branch}@{snapshot.commit}"

    @property
    def is_scan(self) -> bool:
        """Whether parts of one table give parts of its result."""
        return self._sliced() is not None

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:
        """Into how many slices its result can be read in parallel; 1 where it cannot.

        With `rows_each`, only into slices of about so many rows or more, and not at all where a
        condition selects an unknown number.
        """
        table = self._sliced()
        if table is None or (rows_each and self._tree.find(exp.Where)):
            return 1
        most = min(at_most, table.rows // rows_each) if rows_each else at_most
        return max(1, min(most, table.fragments())) if most > 1 else 1

    def read_slice(self, index: int, of: int, params: Params = None) -> pa.RecordBatchReader:
        """One of so many slices of the result, at the pinned moment."""
        if not 0 <= index < of:
            raise InvalidInput(f"there is no slice {index} of {of}", hint="They begin with 0.")
        if self._returns:
            rows = self.execute(params)
            assert not isinstance(rows, int)
            return rows
        execution, table = self.connection.start(), self._sliced()
        if table is None:
            if of > 1:
                raise InvalidInput("this result cannot be read in slices", hint="Read it whole.")
            return self._plan().run(params, execution)
        part = part_of(table, index, of)
        planned = plan_query(self.connection, self._tree, self._moments(), part=part)
        return planned.run(params, execution)

    # ------------------------------------------------------------------ parts

    def _sliced(self) -> ReadableTable | None:
        """The table whose fragments divide the result, if there is one."""
        if self.is_update or self._prefix or not isinstance(self._tree, exp.Query):
            return None
        planned = self._plan()
        return planned.tables[0] if is_sliceable(planned.tree) and planned.tables else None

    def _moments(self) -> PinnedSnapshots:
        self._pins = self._pins or self.connection.pins()
        return self._pins

    def _plan(self, newest: bool = False, params: Params = None) -> PlannedQuery:
        """The plan; a new one if its catalogs have moved and the newest state is wanted.

        The first plan announces the types of parameters, for which it may look at values.
        """
        params = params if self._planned is None else None
        if newest:
            self._pins = self.connection.pins()
        pins = self._moments()
        planned = self._planned or self.connection.cached_plan(self._key())
        is_valid = (
            planned is not None
            and planned.cacheable
            and pins.still_at(planned.moments)
            and fits(planned.parameters, planned.untyped, params)
        )
        if planned is None or not is_valid:
            planned = plan_query(
                self.connection, self._tree, pins, prefix=self._prefix, params=params
            )
            self.connection.cache_plan(self._key(), planned)
        if self._planned is None:
            self.connection.datafusion.count_plan(is_valid)
        self._planned = planned
        return planned

    def _key(self) -> tuple[str, ...]:
        session = self.connection
        return (self.sql, session.dialect, session.catalog, session.schema)

    def _require_existing(self) -> None:
        """DESCRIBE of a table that does not exist is an error, not an empty result."""
        table = self._written.this if isinstance(self._written, exp.Describe) else None
        if isinstance(table, exp.Table):
            find_relation(self.connection.pins(), self.connection.schema, name_parts(table))

    def _described(self) -> pa.RecordBatchReader:
        schema = plan_query(self.connection, self._tree.this, self._moments()).schema
        rows = ((f.name, sql_name(f.type), "YES" if f.nullable else "NO") for f in schema)
        return table_of(_DESCRIPTION, rows).to_reader()


def _without_explain(connection: Connection, tree: exp.Expr) -> tuple[str, exp.Expr]:
    """EXPLAIN as DataFusion reads it, if it stands before a query, and the query."""
    if not (isinstance(tree, exp.Command) and str(tree.this).upper() == "EXPLAIN"):
        return "", tree
    text, prefix = str(tree.expression), "EXPLAIN "
    for word in ("ANALYZE", "VERBOSE"):
        if text.upper().startswith(word):
            text, prefix = text[len(word) :].lstrip(), f"{prefix}{word} "
    explained = parse_one(text, connection.dialect).tree
    if not isinstance(explained, exp.Query):
        raise InvalidInput("EXPLAIN shows the plan of a query", hint="Write EXPLAIN SELECT ….")
    return prefix, explained
