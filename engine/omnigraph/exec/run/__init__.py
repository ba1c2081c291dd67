"""A match plan to Arrow: match, aggregate or rank, sort, limit, project; and `explain`.

Promises bounded memory for rows in flight: chunks stream, and large sorts spill. Imports exec.plan
and what lies below it, and DataFusion in `external_sort` only.
"""
