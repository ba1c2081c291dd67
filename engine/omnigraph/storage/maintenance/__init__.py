"""Upkeep that changes no entity: collect, optimize, verify."""
