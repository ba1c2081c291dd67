"""Bytes on the wire: Flight SQL messages, tickets, batches, metadata schemas, statuses.

Knows no graph and no session. Imports nothing of this server; every error becomes a Flight status
in `flight_status`.
"""
