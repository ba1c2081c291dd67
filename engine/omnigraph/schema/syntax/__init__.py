"""`.pg` text to a syntax tree that keeps positions.

Promises a typed error that points into the text for any input.
"""
