"""What a transaction wants done to the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from omnigraph.storage.tables.write_buffer import RowBuffer


@dataclass(frozen=True, slots=True)
class WriteRows:
    """Add rows: strictly, or replacing those that hold the same id."""

    mode: Literal["insert", "upsert"]
    buffer: RowBuffer
    one_file: bool = False
    """Rows come from one load input, in which a key may stand only once."""
    fresh_ids: bool = False
    """All ids were just made up: no need to look for duplicates."""

    strict = False


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Take out entities by id; ids that are not there are ignored."""

    ids: pa.StringArray
    cascade: bool = True

    strict = True


@dataclass(frozen=True, slots=True)
class OverwriteRows:
    """Put new contents in the place of all rows."""

    buffer: RowBuffer
    one_file: bool = False
    fresh_ids: bool = False

    strict = True


Operation = WriteRows | DeleteRows | OverwriteRows


def writing(
    mode: Literal["insert", "upsert", "overwrite"],
    buffer: RowBuffer,
    one_file: bool,
    fresh_ids: bool,
) -> WriteRows | OverwriteRows:
    """The operation that puts the rows of a buffer into a table."""
    if mode == "overwrite":
        return OverwriteRows(buffer, one_file, fresh_ids)
    return WriteRows(mode, buffer, one_file, fresh_ids)


def with_given_ids(operation: WriteRows | OverwriteRows) -> WriteRows | OverwriteRows:
    """The same operation, some of whose ids were not made up and may be there already."""
    return replace(operation, fresh_ids=False)
