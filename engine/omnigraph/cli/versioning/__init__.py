"""Commands on branches, commits and history."""
