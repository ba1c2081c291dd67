"""What every write shares: transaction, target, columns, sinks, parameters."""
