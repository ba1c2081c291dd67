"""What Arrow tables hold in memory, which is not what their values take.

A table that was filtered or concatenated keeps the chunks it was made of, each with buffers of its
own and about a kilobyte around them; a slice keeps all of its parent.
"""

from __future__ import annotations

import pyarrow as pa

TABLE_BYTES = 1024
"""About what a table takes besides its buffers, and again for each chunk of a column."""


def in_one_chunk(rows: pa.Table) -> pa.Table:
    """The same rows in one chunk per column, worth keeping for long."""
    return rows.combine_chunks()


def held_bytes(rows: pa.Table) -> int:
    """How much is freed when a table that nothing else refers to goes."""
    chunks: int = sum(column.num_chunks for column in rows.columns)
    buffers: int = rows.get_total_buffer_size()
    return buffers + TABLE_BYTES * (1 + chunks)
