"""What differs between two moments, at the cost of the change."""
