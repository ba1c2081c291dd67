"""A logical plan to a match plan, and the access path that it takes."""
