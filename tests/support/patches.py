"""A patch that changes nothing is a test that cannot fail: refuse it.

After a constant has moved to another module, a test that still sets it where it used to be would
set a name that nobody reads.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("omnigraph", "omnigraph_sql", "omnigraph_flight", "omnigraph_spark", "dbt")
FOLDERS = ("engine", "sql_bridge", "flight_server", "spark_pipeline", "dbt-omnigraph")


@pytest.fixture(autouse=True, scope="session")
def patches_must_have_an_effect() -> Iterator[None]:
    """Refuse to set a name in a module of ours that nothing reads, there or through it."""
    original = pytest.MonkeyPatch.setattr

    def checked(self: pytest.MonkeyPatch, target: Any, name: Any, *rest: Any, **more: Any) -> None:  # noqa: ANN401
        if isinstance(target, str):
            module_name, _, attribute = target.rpartition(".")
            if module_name.partition(".")[0] in PACKAGES:
                _require_read(module_name, attribute)
        elif isinstance(target, ModuleType):
            _require_read(target.__name__, name)
        original(self, target, name, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest.MonkeyPatch, "setattr", checked)
        yield


def _require_read(module_name: str, attribute: str) -> None:
    if module_name.partition(".")[0] not in PACKAGES:
        return
    try:
        module = import_module(module_name)
    except ModuleNotFoundError:
        return  # `package.module.imported.attribute`, which pytest resolves
    if not isinstance(module, ModuleType):
        return
    last = module_name.rpartition(".")[2]
    if attribute not in _read_in(module) and (last, attribute) not in _read_through_modules():
        raise AssertionError(f"nothing reads {attribute} of {module_name}: the patch has no effect")


@cache
def _read_in(module: ModuleType) -> frozenset[str]:
    tree = ast.parse(inspect.getsource(module))
    return frozenset(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


@cache
def _read_through_modules() -> frozenset[tuple[str, str]]:
    """Every `name.attribute` that the packages read, as a module might be meant by the name."""
    return frozenset(
        (node.value.id, node.attr)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
