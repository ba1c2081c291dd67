"""Indexes of a table version: what is there, what is missing, and a version that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lance import LanceDataset, LanceOperation
from lance.dataset import Index

from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.read_errors import read_error
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables import key_lookup
from omnigraph.storage.tables.tables import TableStore

MAX_SEGMENTS = 4
"""An index made of this many segments or more is built anew instead of getting one more."""
VECTOR_MINIMUM = 5000
"""Below this many vectors an exact search is faster than any index."""

LANCE_NAMES = {"btree": "BTREE", "inverted": "INVERTED", "ngram": "NGRAM", "vector": "IVF_FLAT"}
BUILT_FOR = {"btree": ("btree",), "inverted": ("inverted", "ngram"), "vector": ("vector",)}
"""What is built where a schema asks for an index: text is found by words, and by pieces."""


@dataclass(frozen=True, slots=True)
class MissingIndex:
    """Fragments of a table that an index should cover and does not."""

    column: str
    kind: str
    fragments: tuple[int, ...]
    """Those to build it for: the bare ones, or all."""
    bare: tuple[int, ...]
    rows: int
    """Rows of the bare ones."""
    rebuild: bool

    @property
    def name(self) -> str:
        return f"{self.column}_{self.kind}"


def missing_indexes(
    tables: TableStore, version: TableVersion, type_: GraphType
) -> list[MissingIndex]:
    """What maintenance should build for a version of a type's table."""
    fragments = {fragment.id: fragment.rows for fragment in tables.fragments(version)}
    return missing_among(fragments, tables.index_segments(version), type_)


def missing_among(
    fragments: Mapping[int, int], covered: Mapping[str, list[set[int]]], type_: GraphType
) -> list[MissingIndex]:
    """The same for any fragments, given with their rows, also such as are yet to be written."""
    total = sum(fragments.values())
    missing = []
    for column, kind in declared_indexes(type_):
        segments = covered.get(f"{column}_{kind}", [])
        bare = tuple(sorted(fragments.keys() - set().union(*segments)))
        rows = sum(fragments[f] for f in bare)
        if not rows or (kind == "vector" and total < VECTOR_MINIMUM):
            continue
        rebuild = len(segments) >= MAX_SEGMENTS or 2 * rows > total
        built_for = tuple(sorted(fragments)) if rebuild else bare
        missing.append(MissingIndex(column, kind, built_for, bare, rows, rebuild))
    return missing


def declared_indexes(type_: GraphType) -> list[tuple[str, str]]:
    """The indexes that a type's declarations ask for, as (column, kind)."""
    declared = sorted(type_.physical_indexes().items())
    return [(column, kind) for column, purpose in declared for kind in BUILT_FOR[purpose]]


def undeclared_indexes(tables: TableStore, version: TableVersion, type_: GraphType) -> list[str]:
    """Indexes that are there and that no declaration asks for any more."""
    declared = {f"{column}_{kind}" for column, kind in declared_indexes(type_)}
    return sorted(tables.index_names(version) - declared)


def without_indexes(
    tables: TableStore, version: TableVersion, names: Iterable[str]
) -> TableVersion:
    """A version of the same rows that has not got these indexes."""
    dataset = tables.handle(version).dataset
    removed = [index for name in names for index in _existing(dataset, name)]
    return _changed(tables, version, [], removed) if removed else version


def ready_for_probes(
    tables: TableStore, version: TableVersion, type_: GraphType, column: str = "id"
) -> TableVersion:
    """A version of the same rows in which looking a few values up does not read whole fragments.

    The same version, unless a bulk write left many rows that the index does not cover: then the
    first small write after it builds the index, and all later ones find it there.
    """
    if not tables.may_be_uncovered(version, column):
        return version
    missing = [i for i in missing_indexes(tables, version, type_) if i.column == column]
    bare = {fragment for index in missing for fragment in index.bare}
    if sum(index.rows for index in missing) >= key_lookup.PROBED_ROWS:
        version, bare = with_indexes(tables, version, missing), set()
    fragments = {fragment.id for fragment in tables.fragments(version)}
    tables.set_covered(version, column, fragments - bare)
    return version


def with_indexes(
    tables: TableStore, version: TableVersion, missing: Iterable[MissingIndex]
) -> TableVersion:
    """A version of the same rows that has the missing indexes."""
    for index in missing:
        dataset = tables.handle(version).dataset
        built = tables.named_segment(version, _build(dataset, version, index))
        replaced = _existing(dataset, index.name) if index.rebuild else []
        version = _changed(tables, version, [built], replaced)
    return version


def _changed(
    tables: TableStore, version: TableVersion, built: list[Index], removed: list[Index]
) -> TableVersion:
    operation = LanceOperation.CreateIndex(new_indices=built, removed_indices=removed)
    unsynced = [path for index in built for path in tables.index_paths(version, index.uuid)]
    return tables.apply(version, operation, unsynced)


def _build(dataset: LanceDataset, version: TableVersion, index: MissingIndex) -> Index:
    try:
        built = dataset.create_index_uncommitted(
            index.column,
            LANCE_NAMES[index.kind],
            name=index.name,
            replace=True,
            fragment_ids=list(index.fragments),
            **_options(index),
        )
        if index.kind == "inverted":
            dataset.merge_index_metadata(built.uuid, "INVERTED")
    except (OSError, ValueError, RuntimeError) as error:
        raise read_error(version, error) from error
    return built


def _options(index: MissingIndex) -> dict[str, object]:
    if index.kind == "inverted":
        return {
            "base_tokenizer": "simple",
            "lower_case": True,
            "stem": True,
            "remove_stop_words": True,
            "ascii_folding": True,
            "with_position": False,
        }
    if index.kind == "vector":
        return {"metric": "L2", "num_partitions": max(1, int(index.rows**0.5) // 2)}
    return {}


def _existing(dataset: LanceDataset, name: str) -> list[Index]:
    """The segments of an index, as Lance wants them named to be removed."""
    return [
        Index(
            uuid=segment.uuid,
            name=index.name,
            fields=list(index.fields),
            dataset_version=segment.dataset_version_at_last_update,
            fragment_ids=set(segment.fragment_ids),
            index_version=segment.index_version,
        )
        for index in dataset.describe_indices()
        if index.name == name
        for segment in index.segments
    ]
