"""Export of a whole snapshot, or of some of its types, to a file.

The shape is docs/design/loading.md#8-export.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import InvalidInput
from omnigraph.loading.ndjson_writer import export_ndjson
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.refs.snapshot import Snapshot


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
    with opened(out) as file:
        return export_ndjson(tables, file, on_progress)


def _by_id(snapshot: Snapshot, type_: GraphType) -> Iterator[pa.RecordBatch]:
    return iter(snapshot.scan(type_.table_key, order_by=["id"]))


@contextmanager
def opened(out: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """The file to write to; a path takes its new contents when all of them were written."""
    if not isinstance(out, str | Path):
        yield out
        return
    path = Path(out)
    try:
        if path.exists() and not path.is_file():  # a device or a named pipe cannot be replaced
            with path.open("wb") as device:
                yield device
            return
        part = path.with_name(f".{path.name[:100]}.{new_ulid()}.part")
        try:
            with part.open("xb") as file:
                yield file
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot write {str(out)!r}: {error.strerror}", hint="Choose another file."
        ) from error
