"""Data and queries in the manner of TPC-H: its tables, its types, its 22 questions.

The rows are our own: same shapes, keys and value ranges as the benchmark's, made with numpy, so
that every question has an answer; they are not what dbgen writes.
"""

from __future__ import annotations

from support.tpch.data import tables
from support.tpch.queries import QUERIES

__all__ = ["QUERIES", "tables"]
