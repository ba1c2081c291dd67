"""Writes from Spark: executors write, the driver validates and commits once.

Only what the messages of finished tasks name becomes part of the commit, so tasks that fail, are
killed, run twice or speculatively change nothing. Imports the root modules below `data_source`.
"""
