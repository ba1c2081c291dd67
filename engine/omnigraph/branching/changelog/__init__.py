"""What commits changed, one by one: the changes of a commit and the change feed."""
