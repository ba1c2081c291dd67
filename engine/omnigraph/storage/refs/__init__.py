"""Branches, tags, moments and the snapshots that they name."""
