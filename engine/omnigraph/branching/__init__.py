"""What happened between two moments, and bringing branches together.

Promises differences by entity at a cost proportional to the change, under one equality of images.
Imports storage and schema; knows no query language, no loading and no Lance.
"""
