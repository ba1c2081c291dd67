"""The only door to `__manifest`: rows, format versions, compare-and-swap."""
