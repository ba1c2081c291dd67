"""Plain tables: rows of any columns beside the graph, with what SQL declared about them."""
