"""One query rewritten, planned and run, or answered without a plan."""
