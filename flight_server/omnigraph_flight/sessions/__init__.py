"""What lasts between calls: sessions, leased connections, transactions, prepared statements.

Each module guards its own state with its own lock. Imports `access` and `protocol`.
"""
