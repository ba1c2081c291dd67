"""Expressions, comparisons, scores and sort keys over bindings, a column at a time.

Promises the language's values exactly: numbers by value across widths, null never true, one total
order. Imports exec.graph, exec.search and query.logical.
"""
