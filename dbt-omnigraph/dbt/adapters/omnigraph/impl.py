"""The adapter: what dbt needs of a database, in terms of OmniGraph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, ConstraintSupport, PythonJobHelper, available
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.sql import SQLAdapter
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.contracts.metadata import CatalogTable

from dbt.adapters.omnigraph.catalog import catalog_table
from dbt.adapters.omnigraph.column import OmniGraphColumn
from dbt.adapters.omnigraph.connections import OmniGraphConnectionManager
from dbt.adapters.omnigraph.credentials import OmniGraphCredentials
from dbt.adapters.omnigraph.python_models import SparkModel
from dbt.adapters.omnigraph.relation import OmniGraphRelation
from dbt.adapters.omnigraph.seeds import arrow_table

if TYPE_CHECKING:
    import agate


class OmniGraphAdapter(SQLAdapter):
    """dbt on branches of a graph."""

    ConnectionManager = OmniGraphConnectionManager
    connections: OmniGraphConnectionManager
    Relation = OmniGraphRelation
    Column = OmniGraphColumn

    CONSTRAINT_SUPPORT = {
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.ENFORCED,
        ConstraintType.primary_key: ConstraintSupport.ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_ENFORCED,
    }

    _capabilities = CapabilityDict(
        {
            Capability.SchemaMetadataByRelations: CapabilitySupport(support=Support.Full),
            Capability.GetCatalogForSingleRelation: CapabilitySupport(support=Support.Full),
            Capability.TableLastModifiedMetadata: CapabilitySupport(support=Support.Unsupported),
            Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Full),
        }
    )

    @classmethod
    def date_function(cls) -> str:
        return "now()"

    @classmethod
    def is_cancelable(cls) -> bool:
        return True

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        import agate

        if agate_table.aggregate(agate.MaxPrecision(col_idx)):
            return "double precision"
        return cls.convert_integer_type(agate_table, col_idx)

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        values = [v for v in agate_table.columns[col_idx].values() if v is not None]
        return "integer" if all(-(2**31) <= v < 2**31 for v in values) else "bigint"

    @classmethod
    def convert_datetime_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        return "timestamp"

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "delete+insert", "merge", "insert_overwrite", "microbatch"]

    def cleanup_connections(self) -> None:
        """Called by dbt when everything has run, hooks included: time to publish."""
        try:
            self.connections.run.settle()
        finally:
            super().cleanup_connections()
            self.connections.pool.close()

    def _make_match_kwargs(self, database: str, schema: str, identifier: str) -> dict[str, str]:
        """Names are case-sensitive, quoted or not; so is the search for them."""
        named = {"database": database, "schema": schema, "identifier": identifier}
        return {part: name for part, name in named.items() if name is not None}

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """One relation of the catalog; none if it does not exist."""
        rows = self.execute_macro(
            "omnigraph__get_catalog_for_single_relation", kwargs={"relation": relation}
        )
        return catalog_table(rows)

    # ------------------------------------------------------------------ Python models

    @property
    def default_python_submission_method(self) -> str:
        return "spark"

    @property
    def python_submission_helpers(self) -> dict[str, Callable[..., PythonJobHelper]]:  # type: ignore[override]
        return {"spark": self._spark_model}

    def _spark_model(
        self, parsed_model: Mapping[str, Any], credentials: OmniGraphCredentials
    ) -> PythonJobHelper:
        handle = self.connections.get_thread_connection().handle
        return SparkModel(parsed_model, credentials, self.connections.pool.endpoint(), handle)

    def generate_python_submission_response(self, submission_result: int) -> AdapterResponse:
        return AdapterResponse(_message=f"OK {submission_result}", rows_affected=submission_result)

    # ------------------------------------------------------------------ for macros

    @available.parse(lambda *a, **k: 0)
    def ingest_seed(self, relation: OmniGraphRelation, table: agate.Table) -> int:
        """Stream the rows of a seed into its table, which exists."""
        columns = {column.name: column.dtype for column in self.get_columns_in_relation(relation)}
        rows = arrow_table(table, columns)
        return self.connections.ingest(str(relation.schema), str(relation.identifier), rows)

    @available
    def run_branch_name(self) -> str:
        """The branch that this invocation's statements run on."""
        return self.connections.run.branch()

    @available
    def target_branch_name(self) -> str:
        """The branch that a success publishes to."""
        return self.connections.run.target
