"""`.gq` reads as Spark SQL: the engine's plan in, one query over the tables of a snapshot out.

Promises the same rows as the local engine, or a typed error for what Spark cannot do. Imports
omnigraph.query, sqlglot and pyspark.
"""
