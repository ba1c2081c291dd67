"""A compiled schema as values: types, properties, rules, ids, the Arrow schema of a table.

Imports common alone; pyarrow in `arrow_schema` and `entity_ids` only.
"""
