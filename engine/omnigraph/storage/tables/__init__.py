"""The only door to data tables: build, read, look up, index and slice immutable versions.

Promises that a version never changes once built, and that no Lance object leaves this folder:
`TableStore` answers with Arrow and with values (`TableVersion`, `FragmentStats`, `DataFiles`).
Imports `storage.core` and the schema model.
"""
