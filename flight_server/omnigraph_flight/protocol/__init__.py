"""Bytes on the wire: Flight SQL messages, tickets, batches, statuses."""
