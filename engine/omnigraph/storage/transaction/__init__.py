"""From the operations of a transaction to staged table versions to one publish plan.

Promises that nothing is visible before the publish, and that what was read and moved is refused.
The top of storage: imports every other folder of it.
"""
