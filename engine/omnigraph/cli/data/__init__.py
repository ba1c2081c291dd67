"""Commands on data, schemas, queries and upkeep, one module per command or group.

Each prints what one function of the API returns; they import the engine when they run.
"""
