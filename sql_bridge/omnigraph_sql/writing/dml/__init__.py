"""Statements that change rows: INSERT, UPDATE, DELETE, MERGE, RETURNING and bulk ingestion.

Imports `writing.statement`; no statement of DataFusion changes a row.
"""
