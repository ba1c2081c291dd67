"""The logical plan of a query: what the executor runs and Spark compiles."""
