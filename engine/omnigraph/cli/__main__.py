"""`python -m omnigraph.cli`."""

from omnigraph.cli import main

main()
