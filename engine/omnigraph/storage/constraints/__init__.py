"""The rules of a schema on the final state of a write.

Promises one order of violations (`rule_order`), whether one process checks or many do, a write or a
merge. Imports `storage.core`, `storage.tables` and the schema model; builds and publishes nothing.
"""
