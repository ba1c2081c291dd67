"""From one catalog to the next: migration plans, and the three-way merge of schemas.

Promises plans and conflicts as values; nothing is applied here. Imports `compiler` and `model`.
"""
