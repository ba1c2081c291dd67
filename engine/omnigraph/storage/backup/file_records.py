"""What was copied, with the digest of its contents: kept beside a copy, in parts.

A file counts as copied once a part names it and it is there with that size. Parts are written after
the files that they name are durable, so that a run that was killed goes on from the last part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import Corruption
from omnigraph.storage.backup.write_file import create_file, remove_folder
from omnigraph.storage.core.object_store import RawStore

PARTS = 16
"""More parts than this are written as one when a copy is complete."""
_GRAPH = "graph.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of a copy."""

    path: str
    size: int
    digest: str
    """SHA-256 of the contents, in hexadecimal."""


Records = Mapping[str, FileRecord]
"""By path."""


class RecordFolder:
    """The records of one copy, and the graph that it is a copy of."""

    def __init__(self, raw: RawStore, name: str) -> None:
        self._raw = raw
        self.name = name
        self._known: list[str] = []
        """The parts that were read or written here; another run may add others meanwhile."""

    def graph(self) -> str | None:
        """The first commit of the graph; none where no copy was ever begun."""
        stored = self._raw.read(f"{self.name}/{_GRAPH}")
        if stored is None:
            return None
        try:
            return str(json.loads(stored)["graph"])
        except (ValueError, KeyError, TypeError) as error:
            raise Corruption(
                f"{self.name}/{_GRAPH} below {self._raw.root} cannot be read",
                hint="Make a new backup in another place.",
            ) from error

    def begin(self, graph: str) -> bool:
        """Say which graph is copied; false when somebody said so before."""
        return create_file(
            self._raw, f"{self.name}/{_GRAPH}", json.dumps({"graph": graph}).encode()
        )

    def read(self) -> dict[str, FileRecord]:
        """Every file that was copied; of several records of one, the newest."""
        self._known = self._parts()
        return {
            record.path: record
            for part in self._known
            for record in _parsed(self._raw.read(part) or b"")
        }

    def add(self, records: Iterable[FileRecord]) -> None:
        """Remember files that are there and durable."""
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in records)
        if lines:
            part = f"{self.name}/files-{new_ulid()}.ndjson"
            create_file(self._raw, part, lines.encode())
            self._known.append(part)

    def compact(self, records: Records, present: Container[str]) -> dict[str, FileRecord]:
        """Forget files that are gone, and write many parts as one; what is left."""
        left = {path: record for path, record in records.items() if path in present}
        parts = self._known[:]
        if len(parts) > PARTS or len(left) < len(records):
            self.add(left.values())
            self._raw.delete(parts)
        return left

    def remove(self) -> None:
        """Forget everything."""
        parts = self._parts()
        self._raw.delete(parts)
        self._raw.delete([f"{self.name}/{_GRAPH}"])
        remove_folder(self._raw, self.name)

    def _parts(self) -> list[str]:
        listed = (file.path for file in self._raw.list(self.name))
        return sorted(path for path in listed if path.endswith(".ndjson"))


def digest_of_pieces(pieces: Iterable[bytes]) -> tuple[int, str]:
    """The size and the digest of some contents."""
    hashed, size = hashlib.sha256(), 0
    for piece in pieces:
        hashed.update(piece)
        size += len(piece)
    return size, hashed.hexdigest()


def _parsed(text: bytes) -> Iterator[FileRecord]:
    """The records of a part; a line that is damaged names nothing, and its file is copied again."""
    for line in text.splitlines():
        try:
            record = FileRecord(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if isinstance(record.path, str) and isinstance(record.size, int):
            yield record
