"""Hashes of a catalog: what it says, and the exact compiled form."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from omnigraph.schema.model.catalog import Catalog

# How a declaration is numbered and where it came from is history, not meaning.
_HISTORY = frozenset({"identity", "next_identity", "rename_from", "format"})
# Member order follows identities, so the names are sorted to leave history out here too.
_MEMBER_LISTS = frozenset({"members", "key"})


def fingerprint(catalog: Catalog) -> str:
    """Equal for texts that differ only in order, comments, spacing and rename hints."""
    return _sha256(_meaning(catalog.to_json()))


def compiled_hash(catalog: Catalog) -> str:
    """Equal only for the same compiled form, identities and all."""
    return _sha256(catalog.to_json())


def _sha256(body: object) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _meaning(value: Any) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, dict):
        return {
            name: sorted(part) if name in _MEMBER_LISTS and part else _meaning(part)
            for name, part in value.items()
            if name not in _HISTORY
        }
    return [_meaning(part) for part in value] if isinstance(value, list) else value
