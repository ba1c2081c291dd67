"""Passes that give expressions the types that other databases give them."""
