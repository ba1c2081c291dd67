"""Data files that were written and that no version refers to yet, as an opaque value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from lance.fragment import FragmentMetadata


@dataclass(frozen=True, slots=True)
class DataFiles:
    """What `TableStore.write` gives and what builds a version; only this folder looks inside."""

    fragments: tuple[FragmentMetadata, ...] = ()

    def __add__(self, more: DataFiles) -> DataFiles:
        return DataFiles(self.fragments + more.fragments)

    def to_json(self) -> tuple[str, ...]:
        """One text per fragment that has rows, for another process."""
        return tuple(json.dumps(f.to_json()) for f in self.fragments if f.physical_rows)

    @classmethod
    def from_json(cls, texts: Iterable[str]) -> DataFiles:
        return cls(tuple(FragmentMetadata.from_json(text) for text in texts))


NO_FILES = DataFiles()
