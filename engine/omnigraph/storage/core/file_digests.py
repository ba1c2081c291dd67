"""Digests of files, and the names that hold them.

A file that is written once can carry the digest of its contents in its name: whoever has the file
can check it, and nothing else has to be kept, synced or collected
(docs/design/decisions/0025-digests-in-names.md). A name also has random bits: a collection may be
about to delete a file of the same contents, and must not meet a new one under that name
(docs/design/decisions/0008-epochs-and-not-clocks.md).

Names from before, and names that a remote store was given by Lance, hold no digest.
"""

from __future__ import annotations

import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

import xxhash

BLOCK = 1 << 20
"""So many bytes of a file are in memory while it is read."""

_DATA = re.compile(r"x3([0-9a-f]{32})[0-9a-f]{16}")
_MARK = re.compile(r"(.+)\.([A-Za-z0-9_-]{11})")
_DELETION_MARK = 0x7833 << 48
"""Where a deletion file says which version it was made from: never a number that Lance gives."""
_DELETION_ID = (1 << 63) - 1
_UUID_VERSION = 8

NamedContents = tuple[str, Iterable[bytes]]
"""A file: its name, and its contents in blocks."""


def blocks(path: Path) -> Iterator[bytes]:
    """The contents of a local file, a block at a time."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def digest_of(contents: Iterable[bytes]) -> str:
    """The digest of one file, as short as text can be: 64 bits."""
    hashed = xxhash.xxh3_64()
    for block in contents:
        hashed.update(block)
    return urlsafe_b64encode(hashed.digest()).decode().rstrip("=")


# --------------------------------------------------------------------------- data files


def data_digest(main: Iterable[bytes], beside: Iterable[NamedContents] = ()) -> str:
    """The digest of a data file and the files that belong to it, which are in the order of their
    names."""
    hashed = xxhash.xxh3_128()
    for block in main:
        hashed.update(block)
    _add(hashed, beside)
    return hashed.hexdigest()


def data_stem(digest: str) -> str:
    """A new name for a data file, as long as those that Lance gives."""
    return f"x3{digest}{secrets.token_hex(8)}"


def digest_in_stem(stem: str) -> str | None:
    """The digest that the name of a data file holds, if it does."""
    known = _DATA.fullmatch(stem)
    return known.group(1) if known else None


# --------------------------------------------------------------------------- deletion files


def deletion_numbers(contents: bytes) -> tuple[int, int]:
    """The version and the id that name a new deletion file."""
    return _DELETION_MARK | secrets.randbits(48), deletion_digest(contents)


def deletion_digest(contents: bytes) -> int:
    """The digest of a deletion file; Lance reads ids of 63 bits everywhere."""
    return int(xxhash.xxh3_64_intdigest(contents)) & _DELETION_ID


def digest_in_deletion(read_version: int, id_: int) -> int | None:
    """The digest that the numbers of a deletion file hold, if they do."""
    return id_ if read_version >> 48 == _DELETION_MARK >> 48 else None


# --------------------------------------------------------------------------- index segments


def segment_digest(files: Iterable[NamedContents]) -> int:
    """The digest of all files of an index segment, which are in the order of their names."""
    hashed = xxhash.xxh3_64()
    _add(hashed, files)
    return int(hashed.intdigest())


def segment_uuid(digest: int) -> UUID:
    """A new UUID, of the version for contents of one's own, that holds a digest."""
    drawn = secrets.randbits(62)
    low = digest & 0xFFFF
    # 48 bits of the digest, the version, 12 more, the variant, the last 4, and 58 random ones.
    number = (digest >> 16) << 80 | _UUID_VERSION << 76 | (low >> 4) << 64
    number |= 0b10 << 62 | (low & 0xF) << 58 | (drawn & ((1 << 58) - 1))
    return UUID(int=number)


def digest_in_uuid(text: str) -> int | None:
    """The digest that the UUID of an index segment holds, if it does."""
    try:
        number = UUID(text).int
    except ValueError:
        return None
    if (number >> 76) & 0xF != _UUID_VERSION:
        return None
    return (number >> 80) << 16 | ((number >> 64) & 0xFFF) << 4 | (number >> 58) & 0xF


# --------------------------------------------------------------------------- marks


def mark_name(name: str, digest: str) -> str:
    """The name of an empty file that holds the digest of another one, whose name is given."""
    return f"{name}.{digest}"


def digest_in_mark(name: str) -> tuple[str, str] | None:
    """The file that a mark is about, and its digest."""
    known = _MARK.fullmatch(name)
    return (known.group(1), known.group(2)) if known else None


def _add(hashed: xxhash.xxh3_64 | xxhash.xxh3_128, files: Iterable[NamedContents]) -> None:
    """Names and lengths are hashed too: bytes cannot wander from one file to the next."""
    for name, contents in files:
        hashed.update(b"\0" + name.encode() + b"\0")
        size = 0
        for block in contents:
            hashed.update(block)
            size += len(block)
        hashed.update(size.to_bytes(8, "little"))
