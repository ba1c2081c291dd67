"""What a name means at a pinned snapshot, and the metadata that clients see.

Relations, information_schema, system tables, table functions, access requests. Imports `frontend`
and `datafusion`; knows a session only as `SessionContext`.
"""
