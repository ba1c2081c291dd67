"""Sessions: connections, cursors, scripts, prepared statements and the session's own statements.

The top layer: imports everything below, and is what `omnigraph_sql` exports.
"""
