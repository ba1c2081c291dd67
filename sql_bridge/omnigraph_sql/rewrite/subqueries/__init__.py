"""Passes that write subqueries as joins: correlated ones, and quantified predicates.

`correlated_subqueries`, `dependent_join`, `lift_above_aggregation` and `is_volatile` serve them.
"""
