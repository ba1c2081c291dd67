"""Stored queries: registered on a branch, versioned with it, called by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.query import CompiledQuery, compile_file, compile_query, parse
from omnigraph.query.check.check_params import check_params
from omnigraph.query.syntax.lexer import QueryLexer
from omnigraph.query.syntax.tree import MutationTree
from omnigraph.schema import Catalog
from omnigraph.schema.model.property_types import PropertyType
from omnigraph.storage.core.model import Head
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.definitions import Definition, define, definition_key
from omnigraph.storage.refs.change_definitions import DefinitionChange, change_definitions
from omnigraph.storage.refs.moments import branch_name
from omnigraph.storage.refs.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A query that callers run by name; `compile` tells whether it fits a schema."""

    name: str
    kind: Literal["read", "mutation"]
    description: str | None
    instruction: str | None
    params: Mapping[str, PropertyType]
    source: str

    def compile(self, catalog: Catalog) -> CompiledQuery:
        """The query on a schema; a type error if a schema change broke it."""
        return compile_query(self.source, catalog, self.name, file=f"stored query {self.name}")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
            "instruction": self.instruction,
            "params": {name: str(type_) for name, type_ in self.params.items()},
            "source": self.source,
        }


# --------------------------------------------------------------------------- changing


def register_queries(
    store: GraphStore,
    branch: str,
    source: str,
    *,
    file: str | None = None,
    actor: str | None = None,
) -> list[str]:
    """Store every query of a text on a branch, in one commit; the names, in the order written.

    All must fit the schema of the branch, or none is stored. A name that is there already gets the
    new text; the branch's history keeps the old one.
    """
    definitions: dict[str, Definition] = {}

    def build(_: Head, catalog: Catalog) -> DefinitionChange:
        compiled = compile_file(source, catalog, file)
        definitions.update(
            (name, define("query", name, {"source": text}))
            for name, text in zip(compiled, _texts(source), strict=True)
        )
        if not definitions:
            raise InvalidInput("the text holds no query")
        return {definition.key: definition for definition in definitions.values()}

    change_definitions(store, branch_name(branch), build, actor=actor, message="register queries")
    return list(definitions)


def remove_query(store: GraphStore, branch: str, name: str, *, actor: str | None = None) -> None:
    """Take a stored query off a branch, in one commit."""

    def build(head: Head, _: Catalog) -> DefinitionChange:
        key = definition_key("query", name)
        if key not in head.definitions:
            raise _unknown(name, head.branch, head.definitions)
        return {key: None}

    change_definitions(
        store, branch_name(branch), build, actor=actor, message=f"remove query {name}"
    )


# --------------------------------------------------------------------------- looking up


def stored_queries(snapshot: Snapshot) -> list[StoredQuery]:
    """The stored queries of a moment, by name."""
    return [_described(record) for record in snapshot.definitions("query").values()]


def find_stored(snapshot: Snapshot, name: str) -> StoredQuery:
    """One of them; NotFound if the moment has none of that name."""
    record = snapshot.definition("query", name)
    if record is None:
        raise _unknown(name, snapshot.branch, snapshot.moment.definitions)
    return _described(record)


@lru_cache(maxsize=1024)
def _described(record: Definition) -> StoredQuery:
    tree = parse(record.text)
    (query,) = tree.queries
    return StoredQuery(
        name=record.name,
        kind="mutation" if isinstance(query.body, MutationTree) else "read",
        description=query.description,
        instruction=query.instruction,
        params=check_params(tree, query),
        source=record.text,
    )


def _unknown(name: str, branch: str, known: Mapping[str, str]) -> NotFound:
    names = sorted(k.removeprefix("query:") for k in known if k.startswith("query:"))
    return NotFound(
        f"{branch} has no stored query {name!r}{did_you_mean(name, names)}",
        hint=f"It has {', '.join(names)}." if names else "It has none yet.",
    )


# --------------------------------------------------------------------------- texts


def _texts(source: str) -> Iterator[str]:
    """The text of each query of a parsed file, with the comments above it."""
    data = source.encode()
    depth = start = 0
    for token in QueryLexer(None).lex(data):
        depth += (token.type == "_LBRACE") - (token.type == "_RBRACE")
        if token.type == "_RBRACE" and depth == 0:
            end = token.end_pos or 0
            yield data[start:end].decode().strip()
            start = end
