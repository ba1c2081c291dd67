"""Reads for Spark: what to read is pinned and split on the driver, rows come on executors.

A reading is a small value that pickles; a part of it names an immutable piece of one snapshot, so a
task that runs again reads the same rows.
"""
