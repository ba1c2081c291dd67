"""What a name means at a pinned snapshot, and what clients may ask about names."""
