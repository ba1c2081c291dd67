"""Commands on branches, tags, commits, diffs, feeds and merges.

Each prints what one function of the API returns; they import the engine when they run.
"""
