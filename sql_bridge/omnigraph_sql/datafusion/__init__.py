"""The only code that knows DataFusion: sessions, functions, streams of results, errors.

No exception of DataFusion leaves it. Imports `frontend` and the tables of the engine.
"""
