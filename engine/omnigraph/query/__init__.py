"""The `.gq` query compiler: text and catalog to a typed plan, JSON to parameter values.

Promises typed errors for any input and no effects. Imports common, schema, lark and pyarrow (in
`logical.result_schema` only); never storage.
"""

from omnigraph.query.compile import CompiledQuery, choose_query, compile_file, compile_query
from omnigraph.query.lint import LintReport, lint
from omnigraph.query.logical.describe import Descriptor, Fact
from omnigraph.query.logical.result_schema import result_schema
from omnigraph.query.params import coerce_params
from omnigraph.query.syntax.parse import parse

__all__ = [
    "CompiledQuery",
    "Descriptor",
    "Fact",
    "LintReport",
    "choose_query",
    "coerce_params",
    "compile_file",
    "compile_query",
    "lint",
    "parse",
    "result_schema",
]
