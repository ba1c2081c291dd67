"""Operations that were made under one schema, checked for another one that the branch got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from omnigraph.errors import ReadSetConflict
from omnigraph.schema import Catalog
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.model import Head
from omnigraph.storage.transaction.operations import DeleteRows, Operation


def fit_operations(
    operations: Mapping[str, Sequence[Operation]],
    before: Head,
    known: Catalog,
    head: Head,
    catalog: Catalog,
) -> None:
    """Refuse operations of one head that cannot be staged on another, which has another schema.

    Their tables must have stayed the same: name, identity, key and stored columns. Written rows
    are checked against the values that the new schema allows; rules between rows are for the
    validation of the final state.
    """
    for key, done in sorted(operations.items()):
        old, new = known.type_for(key), _same_table(key, before, known, head, catalog)
        if _value_rules(old) == _value_rules(new):
            continue
        for operation in done:
            if not isinstance(operation, DeleteRows):
                operation.buffer.finish()
                operation.buffer.check_again(partial(check_values, new))


def _same_table(key: str, before: Head, known: Catalog, head: Head, catalog: Catalog) -> GraphType:
    """The type of a table that is the same under both schemas."""
    old, there = known.type_for(key), key in catalog.table_keys()
    new = catalog.type_for(key) if there else None
    if new is None or new.identity != old.identity:
        raise _conflict(before, head, f"another commit has dropped or renamed {key}")
    if _columns(old) != _columns(new) or not table_schema(old).equals(table_schema(new)):
        raise _conflict(before, head, f"another commit has changed the columns of {key}")
    if old.key != new.key:
        raise _conflict(before, head, f"another commit has changed the key of {key}")
    return new


def _columns(type_: GraphType) -> list[tuple[str, int]]:
    return [(prop.name, prop.identity) for prop in type_.properties]


def _value_rules(type_: GraphType) -> tuple[object, ...]:
    """All that `check_values` looks at."""
    return tuple(prop.type for prop in type_.properties), type_.ranges, type_.checks


def _conflict(before: Head, head: Head, problem: str) -> ReadSetConflict:
    return ReadSetConflict("schema", before.schema, head.schema, problem)
