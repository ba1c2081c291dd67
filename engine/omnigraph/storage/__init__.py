"""Storage: immutable Lance table versions, one compare-and-swap of pointers on
`__manifest`.

Promises: a publish is atomic over any number of tables, a crash leaves nothing to repair, a table
version never changes. The only package that imports Lance; it knows no query language.
"""
