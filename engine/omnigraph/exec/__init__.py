"""Execution of plans over snapshots."""
