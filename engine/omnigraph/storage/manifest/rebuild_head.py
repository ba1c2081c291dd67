"""A branch's pointer map put together from version and tombstone rows, without its head.

Heads hold the same map; the two are written by one change, and `verify` compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from omnigraph.storage.core.model import MAIN, Pointers, TablePointer
from omnigraph.storage.manifest.row_codec import ManifestRow, parse_version


def reconstruct(
    rows: Iterable[ManifestRow], branch: str, inherited: Pointers | None = None
) -> Mapping[str, TablePointer]:
    """The latest version of each table on a branch, minus tombstones at or above it.

    `inherited` is the map of the commit that the branch was forked from; its own rows overlay it.
    """
    latest: dict[str, TablePointer] = dict(inherited or {})
    dropped: dict[str, int] = {}
    for row in rows:
        if (row["table_branch"] or MAIN) != branch:
            continue
        key = row["table_key"]
        if row["object_type"] == "table_tombstone":
            dropped[key] = max(dropped.get(key, 0), row["table_version"])
        elif row["object_type"] == "table_version":
            pointer = parse_version(row)
            if key not in latest or pointer.version > latest[key].version:
                latest[key] = pointer
    return {
        key: pointer for key, pointer in latest.items() if pointer.version > dropped.get(key, 0)
    }
