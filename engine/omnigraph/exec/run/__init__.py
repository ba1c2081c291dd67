"""A match plan to Arrow batches: match, aggregate, sort, rank, stream."""
