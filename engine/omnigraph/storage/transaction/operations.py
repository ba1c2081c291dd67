"""What a transaction does to the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from omnigraph.storage.tables.write_buffer import RowBuffer

WriteMode = Literal["insert", "upsert", "overwrite"]


@dataclass(frozen=True, slots=True)
class WriteRows:
    """Add rows: strictly, replacing those that have the same id, or in the place of all rows."""

    mode: WriteMode
    buffer: RowBuffer
    one_file: bool = False
    """Rows come from one load input, in which a key may stand only once."""
    fresh_ids: bool = False
    """All ids were just generated: no need to look for duplicates."""

    @property
    def strict(self) -> bool:
        """Whether it was decided on the rows of the table."""
        return self.mode == "overwrite"


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Delete entities by id; ids that are not there are ignored."""

    ids: pa.StringArray
    cascade: bool = True

    strict = True


Operation = WriteRows | DeleteRows
