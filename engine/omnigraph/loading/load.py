"""One load: one input, one branch, one mode, one atomic commit (docs/design/loading.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound
from omnigraph.loading.columnar_reader import read_columnar
from omnigraph.loading.line_framing import Limits, require_ndjson
from omnigraph.loading.ndjson_reader import read_ndjson
from omnigraph.loading.typed_batch import TypedBatch
from omnigraph.schema import Catalog
from omnigraph.storage.core.model import Commit
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.branches import create_branch
from omnigraph.storage.refs.moments import branch_name
from omnigraph.storage.refs.snapshot import find_type
from omnigraph.storage.transaction.write_transaction import WriteTxn

T = TypeVar("T")
LoadMode: TypeAlias = Literal["overwrite", "append", "merge"]
LoadSource: TypeAlias = (
    str | Path | bytes | BinaryIO | pa.Table | pa.RecordBatchReader | Mapping[str, Any]
)

_OPERATIONS: Mapping[str, Literal["overwrite", "insert", "upsert"]] = {
    "overwrite": "overwrite",
    "append": "insert",
    "merge": "upsert",
}


@dataclass(frozen=True)
class LoadResult:
    """What a load did. Counts are input records per type."""

    branch: str
    base_branch: str | None
    branch_created: bool
    mode: LoadMode
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    commit: Commit

    @property
    def total_entities(self) -> int:
        return sum(self.nodes.values()) + sum(self.edges.values())

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {
            "nodes": _counts(self.nodes),
            "edges": _counts(self.edges),
            "total_entities": self.total_entities,
            "commit": {
                "graph_commit_id": self.commit.id,
                "parent_commit_id": self.commit.parent,
                "actor_id": self.commit.actor,
            },
        }


def load(
    store: GraphStore,
    source: LoadSource,
    *,
    mode: LoadMode,
    branch: str,
    from_: str | None = None,
    type_name: str | None = None,
    actor: str | None = None,
    message: str | None = None,
    limits: Limits | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> LoadResult:
    """Load NDJSON, or one type per Parquet, CSV or Arrow source, in one commit.

    `source` may be a mapping of type names to sources, which all go into the same commit.
    `on_progress` gets how many bytes (NDJSON) or rows (other formats) were read so far.
    """
    if mode not in _OPERATIONS:
        raise InvalidInput(f"unknown load mode {mode!r}", hint="Use overwrite, append or merge.")
    branch = branch_name(branch)
    created = _ensure_branch(store, branch, from_)
    txn = WriteTxn(store, branch, actor=actor, message=message, commit_when_empty=True)
    counts: Counter[str] = Counter()
    try:
        with _batches(source, txn.catalog, type_name, limits or Limits(), on_progress) as batches:
            for typed in ahead(batches):
                counts[typed.type.table_key] += typed.batch.num_rows
                txn.write(
                    typed.type,
                    pa.Table.from_batches([typed.batch]),
                    _OPERATIONS[mode],
                    one_file=True,
                    fresh_ids=typed.generated_ids,
                )
        commit = txn.commit()
    except BaseException:
        txn.abort()
        raise
    assert commit is not None
    by_kind: dict[str, dict[str, int]] = {"node": {}, "edge": {}}
    for key, count in sorted(counts.items()):
        kind, _, name = key.partition(":")
        by_kind[kind][name] = count
    return LoadResult(
        branch, from_ if created else None, created, mode, by_kind["node"], by_kind["edge"], commit
    )


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, of which the next is made while the caller works on the last."""
    with ThreadPoolExecutor(1, thread_name_prefix="omnigraph-read") as reader:
        following = reader.submit(next, items, None)
        while (item := following.result()) is not None:
            following = reader.submit(next, items, None)
            yield item


def _ensure_branch(store: GraphStore, branch: str, from_: str | None) -> bool:
    """Create a missing branch when a base is given; true when it was created."""
    if from_ is None or branch in {head.branch for head in store.heads()}:
        return False
    create_branch(store, branch, from_)
    return True


@contextmanager
def _batches(
    source: LoadSource,
    catalog: Catalog,
    type_name: str | None,
    limits: Limits,
    on_progress: Callable[[int], None] | None,
) -> Iterator[Iterator[TypedBatch]]:
    if type_name is not None and not isinstance(source, Mapping):
        source = {type_name: source}
    if isinstance(source, Mapping):
        yield _counted(source, catalog, on_progress)
        return
    if isinstance(source, pa.Table | pa.RecordBatchReader):
        raise InvalidInput("an Arrow input needs a type", hint='Name it: type="Person".')
    with _opened(source) as file:
        yield read_ndjson(file, catalog, limits, on_progress)


def _counted(
    sources: Mapping[str, Any], catalog: Catalog, on_progress: Callable[[int], None] | None
) -> Iterator[TypedBatch]:
    rows = 0
    for name, source in sources.items():
        for typed in read_columnar(source, find_type(catalog, name)):
            yield typed
            rows += typed.batch.num_rows
            if on_progress:
                on_progress(rows)


@contextmanager
def _opened(source: str | Path | bytes | BinaryIO) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield pa.BufferReader(source)
        return
    if not isinstance(source, str | Path):
        if not hasattr(source, "read"):
            raise InvalidInput(
                f"cannot load from a {type(source).__name__}",
                hint="Give a path, bytes, an open binary file or an Arrow table.",
            )
        yield source
        return
    path = Path(source)
    require_ndjson(path)
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {str(source)!r}") from error
    except PermissionError as error:
        raise InvalidInput(f"cannot read {str(source)!r}: {error.strerror}") from error


def _counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "entities": count} for name, count in sorted(counts.items())]
