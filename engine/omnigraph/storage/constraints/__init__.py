"""The rules of a schema on the final state of a write.

Promises one order of violations, whether one process checks or many do.
"""
