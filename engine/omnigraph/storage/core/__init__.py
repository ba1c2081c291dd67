"""Values that storage passes around, where files lie, failed reads, and the raw object store.

Promises that everything here is a value or a pure function, but for the object store. Imports no
other folder of storage.
"""
