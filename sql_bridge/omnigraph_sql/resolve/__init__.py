"""What the passes know about a tree: columns of its sources, types, parameters."""
