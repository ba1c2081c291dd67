"""A branch or moment pinned to a commit: a read sees the same rows however often it runs."""

from __future__ import annotations

from omnigraph_spark.graph_location import GraphLocation

_NEWEST = "SELECT commit_id FROM system.commits ORDER BY version DESC LIMIT 1"


def pinned_moment(location: GraphLocation, at: str) -> str:
    """`<branch>@<commit>` of what a branch or moment is now."""
    if location.is_server:
        from omnigraph_spark.server_connection import fetch_table

        (commit,) = fetch_table(location, at, _NEWEST).column(0).to_pylist()
        return f"{at.partition('@')[0]}@{commit}"
    snapshot = location.graph().snapshot(at)
    return f"{snapshot.branch}@{snapshot.commit}"
