"""The `.gq` query compiler: text and catalog to a typed plan, JSON to parameter values.

Promises typed errors for any input and no effects. Imports lark, pyarrow (in arrow.py),
omnigraph.schema and omnigraph.errors only.
"""
