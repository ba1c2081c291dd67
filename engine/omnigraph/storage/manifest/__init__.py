"""The only door to `__manifest`: rows and their codecs, format versions, compare-and-swap.

Promises that of two changes built on one view only one lands. Imports `core` and `tables`.
"""
