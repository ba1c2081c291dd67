"""Writes entries to a ledger graph, one transaction each, and reports the outcome of each."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from omnigraph.api.graph import Graph, Transaction
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitUnknown, OmniGraphError, PublishContention
from omnigraph.storage.manifest.commit_outcome import ManifestConflict, ManifestOutcomeUnknown
from omnigraph.storage.manifest.manifest import Manifest, ManifestChange, ManifestView
from support.ledger import entry_key, write_entry
from support.workers.reporting import report, wait_for_go


def work(asked: dict[str, Any]) -> None:
    graph = open_graph(asked["root"])
    graph.snapshot(asked.get("branch", "main"))
    wait_for_go()
    first = asked.get("first", 1)
    with counted_swaps() as counts:
        for n in range(first, first + asked["writes"]):
            _write_until_settled(graph, asked, n, counts)
            time.sleep(random.uniform(0, asked.get("pause", 0.0)))
    report("end", counts=dict(counts))


def _write_until_settled(graph: Graph, asked: dict[str, Any], n: int, counts: Counter[str]) -> None:
    key = entry_key(asked["name"], n)
    report("begin", key=key)
    while True:
        try:
            txn = _write(graph, asked, n)
        except PublishContention:
            counts["contentions"] += 1
            continue
        except CommitUnknown as unknown:
            report("unknown", key=key, commit=unknown.commit_id, error=str(unknown))
        except OmniGraphError as error:
            report("refused", key=key, code=error.code, error=str(error))
        else:
            assert txn.commit is not None
            report("acknowledged", key=key, commit=txn.commit.id)
        return


def _write(graph: Graph, asked: dict[str, Any], n: int) -> Transaction:
    branch = asked.get("branch", "main")
    with graph.transaction(branch, message=entry_key(asked["name"], n)) as txn:
        write_entry(txn, asked["name"], n)
    return txn


@contextmanager
def counted_swaps() -> Iterator[Counter[str]]:
    """How many swaps this process tried, and how they ended."""
    swap, counts = Manifest.compare_and_swap, Counter[str]()

    def counted(manifest: Manifest, view: ManifestView, change: ManifestChange) -> ManifestView:
        counts["swaps"] += 1
        try:
            return swap(manifest, view, change)
        except ManifestConflict:
            counts["conflicts"] += 1
            raise
        except ManifestOutcomeUnknown:
            counts["unknowns"] += 1
            raise

    Manifest.compare_and_swap = counted  # type: ignore[method-assign,assignment]
    try:
        yield counts
    finally:
        Manifest.compare_and_swap = swap  # type: ignore[method-assign]
