"""Names that a package imports at their first use: `omnigraph --help` does not wait for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any]]:
    """The `__all__` and the `__getattr__` of a package, from the names that each module gives.

    A name that a module does not define is one of its submodules.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:  # noqa: ANN401
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = f"{package}.{homes[name]}"
        module = import_module(home)
        value = getattr(module, name) if hasattr(module, name) else import_module(f"{home}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), find
