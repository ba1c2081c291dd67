"""`Graph` and what it gives; its documented names are those of `omnigraph` and `omnigraph.bulk`."""
