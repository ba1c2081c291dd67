"""What lasts between calls: sessions, transactions, prepared statements."""
