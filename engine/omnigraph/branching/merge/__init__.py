"""A three-way merge of two branches into one commit, or nothing."""
