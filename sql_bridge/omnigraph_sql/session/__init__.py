"""Connections, cursors, scripts and prepared statements."""
