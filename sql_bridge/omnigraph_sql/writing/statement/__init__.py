"""What statements that write share: transaction, target, columns, sinks and parameters.

Imports `planning`, which finds the rows, and knows no kind of statement.
"""
