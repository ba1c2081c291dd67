"""`.gq` reads as Spark SQL: the engine's plan in, one query over the tables of a snapshot out.

Promises the same rows as `Graph.query`, or a typed error for what Spark cannot do. Imports
`omnigraph.query`, sqlglot, pyspark and the root modules below `data_source`.
"""
