"""OmniGraph: a typed property graph in Lance tables, with branches and one atomic publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from omnigraph.api.backups import backup as backup
    from omnigraph.api.backups import repair as repair
    from omnigraph.api.backups import restore as restore
    from omnigraph.api.graph import Graph as Graph
    from omnigraph.api.graph import Schema as Schema
    from omnigraph.api.graph import Transaction as Transaction
    from omnigraph.api.graph import init as init
    from omnigraph.api.graph import open as open  # noqa: A004
    from omnigraph.api.references import Branch as Branch
    from omnigraph.api.references import Tags as Tags
    from omnigraph.branching.compare.change_rows import CHANGE_SCHEMA as CHANGE_SCHEMA
    from omnigraph.exec.graph.reachability import REACH_SCHEMA as REACH_SCHEMA
    from omnigraph.exec.run.query_result import QueryResult as QueryResult
    from omnigraph.storage.core.model import Commit as Commit
    from omnigraph.storage.core.object_store import StoredFolder as StoredFolder
    from omnigraph.storage.manifest.tag_rows import Tag as Tag
    from omnigraph.storage.refs.branches import is_hidden as is_hidden
    from omnigraph.storage.refs.snapshot import Snapshot as Snapshot

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "api.backups": "backup repair restore",
        "api.graph": "Graph Schema Transaction init open",
        "api.references": "Branch Tags",
        "branching.compare.change_rows": "CHANGE_SCHEMA",
        "exec.graph.reachability": "REACH_SCHEMA",
        "exec.run.query_result": "QueryResult",
        "storage.core.model": "Commit",
        "storage.core.object_store": "StoredFolder",
        "storage.manifest.tag_rows": "Tag",
        "storage.refs.branches": "is_hidden",
        "storage.refs.snapshot": "Snapshot",
    },
)
