"""Who reaches which graph, and how much of the server."""
