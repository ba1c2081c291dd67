"""Adjacency cached on local disk between processes, memory-mapped when opened again.

Everything here can be deleted at any time: it is rebuilt from the graph. Files are written aside
and renamed, so a reader sees a whole file or none.

    <dir>/<graph>/ids-<table identity>/<first number>.arrow      node ids in the order of numbers
    <dir>/<graph>/ids-<table identity>/<lineage>-<fragment>.npy  numbers of a fragment's rows
    <dir>/<graph>/edges-<location>/<lance version>.csr           adjacency, after a JSON header

Two processes may number new ids differently. The first to write a range of numbers wins it: the
other's numbers differ from the disk's from there on, and it saves nothing that uses them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.columns.id_dictionary import IdDictionary
from omnigraph.exec.graph.adjacency import Adjacency, shared_rows
from omnigraph.exec.graph.csr import Csr
from omnigraph.storage.tables.fragment_stats import FragmentStats

FORMAT = 1
MAGIC = b"OGCSR\0\0\1"
ALIGN = 64
PER_TABLE = 4
"""How many versions of a table's adjacency stay on disk."""
LINEAGE = b"omnigraph:lineage"


def default_cache_dir() -> Path:
    """`$OMNIGRAPH_CACHE_DIR`, or where the platform keeps caches."""
    given = os.environ.get("OMNIGRAPH_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "omnigraph"


class AdjacencyDiskCache:
    """The cached files of one graph. Failing to write is not an error: it is a cache."""

    def __init__(self, directory: Path, root: str) -> None:
        self._home = directory / _short(root)

    # ------------------------------------------------------------------ ids

    def dictionary(self, identity: int) -> IdDictionary:
        """The ids of a node table as far as they are on disk."""
        chunks: list[pa.Array] = []
        lineage, rows = "", 0
        while (path := self._ids(identity) / f"{rows}.arrow").exists():
            try:
                table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            except (OSError, pa.ArrowInvalid):
                break
            found = (table.schema.metadata or {}).get(LINEAGE, b"").decode()
            if lineage not in ("", found) or not table.num_rows:
                break
            lineage = found
            rows += table.num_rows
            chunks.extend(table.column(0).chunks)
        dictionary = IdDictionary(chunks)
        dictionary.lineage, dictionary.on_disk = lineage, dictionary.size
        return dictionary

    def save_dictionary(self, identity: int, dictionary: IdDictionary) -> bool:
        """Write the ids that are not on disk; whether all of them are there now."""
        if dictionary.on_disk == dictionary.size:
            return True
        if dictionary.on_disk < 0:
            return False
        lineage = dictionary.lineage or uuid.uuid4().hex
        ids = dictionary.ids().slice(dictionary.on_disk).cast(pa.string())
        schema = pa.schema([pa.field("id", pa.string())], metadata={LINEAGE: lineage})
        path = self._ids(identity) / f"{dictionary.on_disk}.arrow"

        def write(file: BinaryIO) -> None:
            with pa.ipc.new_file(file, schema) as writer:
                writer.write_table(pa.table([ids], schema=schema))

        if self._write(path, write, exclusive=True):
            dictionary.lineage, dictionary.on_disk = lineage, dictionary.on_disk + len(ids)
            return True
        other = self.dictionary(identity)
        if other.size == dictionary.size and other.ids().equals(dictionary.ids()):
            dictionary.lineage, dictionary.on_disk = other.lineage, other.size
            return True
        dictionary.on_disk = -1
        return False

    def dense(
        self, identity: int, dictionary: IdDictionary, fragment: FragmentStats
    ) -> Handles | None:
        """The numbers of a fragment's rows, if they are on disk."""
        path = self._dense_path(identity, dictionary, fragment)
        if not dictionary.lineage or not path.exists():
            return None
        try:
            found: Handles = np.load(path, mmap_mode="r")
        except (OSError, ValueError):
            return None
        good = len(found) == fragment.rows and found.max(initial=-1) < dictionary.size
        return found if good else None

    def save_dense(
        self, identity: int, dictionary: IdDictionary, fragment: FragmentStats, dense: Handles
    ) -> None:
        path = self._dense_path(identity, dictionary, fragment)
        if not path.exists():
            self._write(path, lambda file: np.save(file, dense))

    def _ids(self, identity: int) -> Path:
        return self._home / f"ids-{identity}"

    def _dense_path(self, identity: int, dictionary: IdDictionary, fragment: FragmentStats) -> Path:
        return self._ids(identity) / f"{dictionary.lineage[:12]}-{_short(fragment.key)}.npy"

    # ------------------------------------------------------------------ adjacency

    def adjacency(
        self,
        location: str,
        fragments: tuple[FragmentStats, ...],
        sources: IdDictionary,
        targets: IdDictionary,
    ) -> Adjacency | None:
        """The saved adjacency that shares most edges with a version of an edge table."""
        best: Callable[[], Adjacency] | None = None
        most = 0
        for path in self._edges(location).glob("*.csr"):
            header, offset = _header(path) or ({}, 0)
            if header.get("lineages") != [sources.lineage, targets.lineage]:
                continue
            if header["sizes"][0] > sources.size or header["sizes"][1] > targets.size:
                continue
            known = tuple(FragmentStats(*item) for item in header["fragments"])
            shared = shared_rows(known, fragments)
            if shared > most:
                most, best = shared, partial(_opened, path, known, header["arrays"], offset)
        with contextlib.suppress(OSError, ValueError):
            return best() if best is not None else None
        return None

    def save_adjacency(
        self,
        location: str,
        lance: int,
        adjacency: Adjacency,
        sources: IdDictionary,
        targets: IdDictionary,
    ) -> None:
        """Save adjacency whose ids are all on disk."""
        out, into = adjacency.bag("forward", 0), adjacency.bag("reverse", 0)
        forms = [a for csr in (out, into) for a in (csr.starts, csr.targets, csr.edges)]
        arrays = [array for array in forms if array is not None]
        items, offset = [], 0
        for array in arrays:
            items.append({"dtype": str(array.dtype), "length": len(array), "offset": offset})
            offset += -(-array.nbytes // ALIGN) * ALIGN
        header = {
            "format": FORMAT,
            "fragments": [[f.key, f.rows, f.files, f.physical] for f in adjacency.fragments],
            "lineages": [sources.lineage, targets.lineage],
            "sizes": [sources.size, targets.size],
            "arrays": items,
        }

        def write(file: BinaryIO) -> None:
            text = json.dumps(header).encode()
            file.write(MAGIC + len(text).to_bytes(8, "little") + text)
            file.write(b"\0" * (-file.tell() % ALIGN))
            for array in arrays:
                file.write(np.ascontiguousarray(array).data)
                file.write(b"\0" * (-file.tell() % ALIGN))

        folder = self._edges(location)
        if self._write(folder / f"{lance}.csr", write):
            old = sorted(folder.glob("*.csr"), key=_age, reverse=True)[PER_TABLE:]
            for path in old:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _edges(self, location: str) -> Path:
        return self._home / f"edges-{_short(location)}"

    def _write(
        self, path: Path, write: Callable[[BinaryIO], object], *, exclusive: bool = False
    ) -> bool:
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(number, "wb") as file:
                write(file)
            # Linking fails if another process was first.
            (os.link if exclusive else os.replace)(temporary, path)
        except OSError:
            return False
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
        return True


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _header(path: Path) -> tuple[dict[str, Any], int] | None:
    """The header of a file and where its arrays begin; none if it is not one of ours."""
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC) + 8)
            if start[: len(MAGIC)] != MAGIC:
                return None
            length = int.from_bytes(start[len(MAGIC) :], "little")
            header: dict[str, Any] = json.loads(file.read(length))
            if header.get("format") != FORMAT:
                return None
            return header, -(-file.tell() // ALIGN) * ALIGN
    except (OSError, ValueError):
        return None


def _opened(
    path: Path, fragments: tuple[FragmentStats, ...], items: list[dict[str, Any]], offset: int
) -> Adjacency:
    arrays = [_mapped(path, offset, item) for item in items]
    return Adjacency(fragments, Csr(*arrays[:3]), Csr(*arrays[3:]))


def _mapped(path: Path, base: int, item: dict[str, Any]) -> AnyArray:
    if not item["length"]:
        return np.empty(0, item["dtype"])
    array = np.memmap(path, item["dtype"], "r", base + item["offset"], (item["length"],))
    return array.view(np.ndarray)
