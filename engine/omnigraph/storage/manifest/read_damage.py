"""A manifest that Lance cannot make sense of, as a typed error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.errors import Corruption
from omnigraph.storage.core.read_errors import is_panic


@contextmanager
def parsed(uri: str) -> Iterator[None]:
    """What Lance takes to be impossible inside this block, as damage of the manifest."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise unreadable(uri, error) from error


def unreadable(uri: str, error: BaseException) -> Corruption:
    return Corruption(
        f"the manifest at {uri} cannot be read: {error}",
        hint="Restore it from a backup; do not create a graph in its place.",
    )
