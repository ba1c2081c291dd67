"""A syntax tree to a catalog: names resolved, rules checked, identities assigned.

Promises an error that points into the text for the first rule that is broken. Imports `syntax`,
`model` and common.
"""
