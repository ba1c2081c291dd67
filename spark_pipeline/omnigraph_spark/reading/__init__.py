"""Reads for Spark: pinned to a commit and split on the driver, read by executors.

A reading is a small value that pickles; a part of it names an immutable part of one snapshot, so a
task that runs again reads the same rows. Imports the root modules below `data_source`.
"""
