"""The `.pg` schema compiler: text to catalog, catalogs to a migration plan, values to ids.

Promises typed errors for any input and no effects. Imports lark, pyarrow and omnigraph.errors only.
"""

from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, Property
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.parse import parse

__all__ = ["Catalog", "EdgeType", "NodeType", "Property", "compile_schema", "parse"]
