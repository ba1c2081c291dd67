"""Cutting a byte stream into lines, with bounded memory and the configured ceilings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from omnigraph.errors import InvalidInput, ResourceLimit

MIB = 1024 * 1024
_NDJSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".txt", ""})


@dataclass(frozen=True)
class Limits:
    """Ceilings of one load; None means none. `line_bytes` does not count the line feed."""

    line_bytes: int = 32 * MIB
    depth: int = 64
    records: int | None = None
    input_bytes: int | None = None


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class LineChunk:
    """Some consecutive lines of the input, without their line feeds; `first` counts from 1."""

    first: int
    lines: list[bytes]


def read_chunks(
    source: BinaryIO,
    limits: Limits,
    chunk_bytes: int,
    on_progress: Callable[[int], None] | None,
) -> Iterator[bytes]:
    """Chunks of whole lines. Every chunk but the last ends with a line feed."""
    seen = 0
    rest: list[bytes] = []  # the start of a line whose end was not read yet
    rest_bytes = 0
    while block := source.read(chunk_bytes):
        seen += len(block)
        if limits.input_bytes is not None and seen > limits.input_bytes:
            raise ResourceLimit("input_bytes", limits.input_bytes, seen)
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, block[:end]])
            rest, rest_bytes = [], 0
        rest.append(block[end:])
        rest_bytes += len(block) - end
        if rest_bytes > limits.line_bytes:
            raise ResourceLimit("line_bytes", limits.line_bytes, rest_bytes)
        if on_progress is not None:
            on_progress(seen)
    if rest_bytes:
        yield b"".join(rest)


def cut(block: bytes, first: int, chunk_bytes: int, most_lines: int) -> Iterator[LineChunk]:
    """A block of lines as chunks of about `chunk_bytes` and at most `most_lines`."""
    start = 0
    while start < len(block):
        end = block.rfind(b"\n", start, start + chunk_bytes)
        if end < 0:
            end = block.find(b"\n", start)
        if end < 0:
            end = len(block)
        lines = block[start:end].split(b"\n")
        for low in range(0, len(lines), most_lines):
            yield LineChunk(first + low, lines[low : low + most_lines])
        first += len(lines)
        start = end + 1


def check_lines(chunk: LineChunk, limits: Limits) -> None:
    longest = max(map(len, chunk.lines))
    if longest > limits.line_bytes:
        raise ResourceLimit("line_bytes", limits.line_bytes, longest)


def require_ndjson(path: Path) -> None:
    """Refuse a path that is a folder, or whose suffix says that it is no NDJSON."""
    if path.is_dir():
        raise InvalidInput(f"{str(path)!r} is a directory", hint="Give the files in it.")
    if path.suffix.lower() not in _NDJSON_SUFFIXES:
        name = path.name
        raise InvalidInput(
            f"{name} is not NDJSON by its suffix, and no type is given for its rows",
            hint=f"Name their type: --type Person {name}, or --file Person={name} for several.",
        )
