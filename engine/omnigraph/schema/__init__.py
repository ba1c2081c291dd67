"""The `.pg` schema compiler: text to catalog, catalogs to a migration plan, values to ids.

Promises typed errors for any input, and no effects. Imports common, lark, numpy and pyarrow (in
`model.arrow_schema` and `model.entity_ids` only); never storage or a query engine.
"""

from omnigraph.common.ulid import new_ulid, new_ulids
from omnigraph.schema.compiler.compile_schema import compile_schema
from omnigraph.schema.evolution.plan_evolution import SchemaPlan, plan_evolution
from omnigraph.schema.model.arrow_schema import arrow_type, exact_values, table_schema
from omnigraph.schema.model.catalog import (
    Annotation,
    Catalog,
    EdgeType,
    Embed,
    GraphType,
    Interface,
    NodeType,
    Property,
)
from omnigraph.schema.model.constraints import (
    Cardinality,
    Index,
    Key,
    PatternCheck,
    Range,
    Unique,
    quote,
)
from omnigraph.schema.model.constraints import PatternCheck as Check
from omnigraph.schema.model.entity_ids import derive_ids, key_text
from omnigraph.schema.model.fingerprint import compiled_hash, fingerprint
from omnigraph.schema.model.property_types import PropertyType, Scalar, scalar_type
from omnigraph.schema.model.render_pg import to_source
from omnigraph.schema.syntax.parse import parse

__all__ = [
    "Annotation",
    "Cardinality",
    "Catalog",
    "Check",
    "PatternCheck",
    "EdgeType",
    "Embed",
    "GraphType",
    "Index",
    "Interface",
    "Key",
    "NodeType",
    "Property",
    "PropertyType",
    "Range",
    "Scalar",
    "SchemaPlan",
    "Unique",
    "arrow_type",
    "compile_schema",
    "compiled_hash",
    "derive_ids",
    "exact_values",
    "fingerprint",
    "key_text",
    "new_ulid",
    "new_ulids",
    "parse",
    "plan_evolution",
    "quote",
    "scalar_type",
    "table_schema",
    "to_source",
]
