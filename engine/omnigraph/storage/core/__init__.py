"""Values that storage passes around, where files lie, and the raw object store.

Imports no other folder of storage.
"""
