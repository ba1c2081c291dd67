"""Where `read_slice` is documented to be; its home is `omnigraph.storage.tables.table_slices`."""

from omnigraph.storage.tables.table_slices import TableSlice, read_slice

__all__ = ["TableSlice", "read_slice"]
