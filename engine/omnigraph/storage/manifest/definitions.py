"""Definitions: named texts that a branch has besides its tables.

Stored queries, views, SQL schemas and what was declared about plain tables. A head and each commit
say which they have, by key and content hash; the contents are named rows of the manifest, so that
looking one up reads nothing. What a definition means is not known here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from omnigraph.storage.core.model import DefinitionHashes
from omnigraph.storage.manifest.row_codec import ManifestRow, manifest_row, pack, readable

DefinitionKind = Literal["query", "view", "schema", "table"]
OBJECT_TYPES: Mapping[str, str] = {
    "query": "stored_query",
    "view": "view",
    "schema": "sql_schema",
    "table": "plain_table",
}
_KINDS: Mapping[str, DefinitionKind] = {
    OBJECT_TYPES[kind]: kind for kind in get_args(DefinitionKind)
}


@dataclass(frozen=True, slots=True)
class Definition:
    """One content of one name; a branch says by its hash that it has it."""

    kind: DefinitionKind
    name: str
    """`<schema>.<name>` for views and tables."""
    text: str
    """The content: the source of a query; canonical JSON for the others."""

    @property
    def key(self) -> str:
        return definition_key(self.kind, self.name)

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    @property
    def body(self) -> dict[str, Any]:
        """What was defined, as JSON has it."""
        if self.kind == "query":
            return {"source": self.text}
        body: dict[str, Any] = json.loads(self.text)
        return body


def define(kind: DefinitionKind, name: str, body: Mapping[str, Any]) -> Definition:
    """The definition of a name with that body; equal bodies give equal hashes."""
    return Definition(kind, name, body["source"] if kind == "query" else pack(body))


def definition_key(kind: DefinitionKind, name: str) -> str:
    """Under which key a head has it."""
    return f"{kind}:{name}"


def definition_id(key: str, content_hash: str) -> str:
    """The id of the row that holds one content of a definition."""
    kind, _, name = key.partition(":")
    return f"{OBJECT_TYPES[kind]}:{name}@{content_hash}"


def changed_definitions(
    known: DefinitionHashes, wanted: Mapping[str, Definition | None]
) -> dict[str, Definition | None]:
    """Those that are wanted, or with none are not, where what is known differs; by key."""
    hashes = {key: definition.hash if definition else None for key, definition in wanted.items()}
    return {key: wanted[key] for key, new in hashes.items() if known.get(key) != new}


def definition_row(definition: Definition) -> ManifestRow:
    """The row of one content of a definition."""
    return manifest_row(
        definition_id(definition.key, definition.hash),
        OBJECT_TYPES[definition.kind],
        metadata=pack({"name": definition.name, "source": definition.text}),
    )


@readable
def parse_definition(row: ManifestRow) -> Definition:
    """The definition in a row."""
    data = json.loads(row["metadata"])
    return Definition(_KINDS[row["object_type"]], data["name"], data["source"])
