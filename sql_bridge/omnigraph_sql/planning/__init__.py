"""One query: rewritten, planned and run, or answered by the store without DataFusion.

Imports everything below it, from `frontend` to `rewrite`; changes nothing.
"""
