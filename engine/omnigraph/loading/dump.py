"""Export of a whole snapshot, or of some of its types, to a file (loading.md §8)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.loading.export import export_ndjson
from omnigraph.storage.snapshot import GraphType, Snapshot


def export_snapshot(
    snapshot: Snapshot,
    out: str | Path | BinaryIO,
    types: Iterable[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Write entities, types in byte order of their table keys, entities by id; returns how many."""
    wanted = snapshot.types() if types is None else {snapshot.find_type(name) for name in types}
    tables = [
        (type_, partial(_by_id, snapshot, type_))
        for type_ in sorted(wanted, key=lambda t: t.table_key.encode())
    ]
    with _opened(out) as file:
        return export_ndjson(tables, file, on_progress)


def _by_id(snapshot: Snapshot, type_: GraphType) -> Iterator[pa.RecordBatch]:
    return iter(snapshot.scan(type_.table_key, order_by=["id"]))


@contextmanager
def _opened(out: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """The file to write to; a path is replaced only when everything was written."""
    if not isinstance(out, str | Path):
        yield out
        return
    target = Path(out)
    partial_file = target.with_name(target.name + ".partial")
    try:
        with partial_file.open("wb") as file:
            yield file
        os.replace(partial_file, target)
    except OSError as error:
        raise InvalidInput(f"cannot write {str(out)!r}: {error.strerror}") from error
    finally:
        partial_file.unlink(missing_ok=True)
