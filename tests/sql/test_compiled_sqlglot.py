"""The dialect works with both builds of sqlglot: the interpreted one and `sqlglotc`.

Any other package may bring the compiled build along; `make test-sqlglotc` runs all of tests/sql
with it.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest
from sqlglot import generator, parse_one
from sqlglot.dialects.dialect import Dialect

import omnigraph_sql
from omnigraph_sql.datafusion.dialect import to_datafusion_sql
from sql.conftest import rows

COMPILED = not generator.__file__.endswith(".py")


def own_classes() -> Iterator[type]:
    for found in pkgutil.walk_packages(omnigraph_sql.__path__, "omnigraph_sql."):
        module = import_module(found.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__:
                yield from (kind, *(c for c in vars(kind).values() if inspect.isclass(c)))


def test_no_class_inherits_from_one_that_may_be_compiled() -> None:
    inherited = {
        f"{kind.__module__}.{kind.__qualname__} inherits from {base.__qualname__}"
        for kind in own_classes()
        for base in kind.__mro__[1:]
        if kind.__module__.startswith("omnigraph_sql.") and base.__module__.startswith("sqlglot")
    }
    dialect = "omnigraph_sql.datafusion.dialect.datafusion_dialect.DataFusion"
    assert inherited == {f"{dialect} inherits from {Dialect.__qualname__}"}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT TRY_CAST(a AS INT)", "SELECT TRY_CAST(a AS INT)"),
        ("SELECT a::int8, count(*)", "SELECT arrow_cast(a, 'Int64'), count(*)"),
        ("SELECT ~a, a % b, a IS TRUE", "SELECT (-1 - (a)), a % b, coalesce(a, false)"),
        ("SELECT rank() OVER (ORDER BY a)", "SELECT CAST(RANK() OVER (ORDER BY a) AS BIGINT)"),
    ],
)
def test_what_datafusion_writes_otherwise_is_written_so(text: str, written: str) -> None:
    tree = parse_one(text, read="postgres")
    assert to_datafusion_sql(tree).lower() == written.lower()


@pytest.mark.skipif(not COMPILED, reason="sqlglotc is not installed")
def test_with_the_compiled_build_queries_run(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    assert rows(shared_connection, "SELECT CAST('1' AS INT) + 1 AS two") == [{"two": 2}]
