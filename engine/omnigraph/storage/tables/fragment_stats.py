"""What is known of the fragments of a table version without reading their rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from lance import LanceFragment


@dataclass(frozen=True, slots=True)
class FragmentStats:
    """One immutable part of a table. Equal keys mean equal rows, in any version."""

    key: str
    rows: int
    """Live rows."""
    files: str = ""
    """The same for every state of deletions."""
    physical: int = -1
    """How many rows the files hold, deleted ones included."""
    id: int = field(default=-1, compare=False)
    """The upper half of its rows' addresses; says nothing across versions."""
    fields: tuple[tuple[int, ...], ...] = field(default=(), compare=False)
    """The columns that each of the files holds."""
    bytes: int = field(default=0, compare=False)
    """About how much reading it takes."""
    sizes: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """How long its files are, by their paths below the root, where that was noted."""


def stats_of(location: str, fragment: LanceFragment) -> FragmentStats:
    """The statistics of a fragment; reads nothing."""
    metadata = fragment.metadata
    files = f"{location}/{'|'.join(file.path for file in metadata.files)}"
    deletions = metadata.deletion_file
    return FragmentStats(
        f"{files}-{deletions.path(metadata.id) if deletions else ''}",
        metadata.num_rows,
        files,
        metadata.physical_rows,
        metadata.id,
        tuple(tuple(file.fields) for file in metadata.files),
        sum(file.file_size_bytes or 0 for file in metadata.files),
        tuple(
            (f"{location}/data/{file.path}", file.file_size_bytes)
            for file in metadata.files
            if file.file_size_bytes
        ),
    )


def first_file(fragment: LanceFragment) -> str:
    """The data file that a fragment is known by."""
    return str(fragment.data_files()[0].path)
