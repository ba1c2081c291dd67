"""Passes that write syntax which DataFusion lacks in syntax that it has."""
