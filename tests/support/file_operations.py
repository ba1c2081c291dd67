"""What a process did to the files below a folder, recorded with strace.

An operation takes effect when it has returned; a sync covers what had returned when it was asked
for. Reads and failed calls are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,"
    "write,pwrite64,writev,pwritev,ftruncate,lseek,fsync,fdatasync,copy_file_range,sendfile"
)
_LINE = re.compile(r"(\d+)\s+(.*)", re.S)
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)(?:<([^>]*)>)?", re.S)
_HEX = re.compile(r"(?:\\x[0-9a-f]{2})+")
_QUOTED = re.compile(r'"([^"]*)"')
_DESCRIPTOR = re.compile(r"(\d+)<([^>]*)>")
_PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"')


def strace() -> str | None:
    return shutil.which("strace")


@dataclass(frozen=True)
class Named:
    """Names that went and came at once: a creation, a rename, a link, an unlink, a new folder."""

    gone: tuple[str, ...] = ()
    came: tuple[tuple[str, int], ...] = ()
    """Paths and the files (or folders) they name from now on."""
    folder: bool = False


@dataclass(frozen=True)
class Written:
    """Bytes that were written to a file."""

    file: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Synced:
    """A sync of a file or of a folder, which covers all operations before `since`."""

    file: int
    since: int
    path: str
    """What it was called then."""


@dataclass(frozen=True)
class Emptied:
    """A file that was opened to be written anew."""

    file: int


@dataclass(frozen=True)
class Noted:
    """A line that the process wrote to its notes."""

    line: str


Operation = Named | Written | Emptied | Synced | Noted


@dataclass
class Recorder:
    """Turns returned calls into operations on numbered files; `names` is the state they leave."""

    root: str
    notes: str
    names: dict[str, int] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    _positions: dict[tuple[int, int], int] = field(default_factory=dict)
    """By descriptor and file: several processes have the same descriptors."""
    _contents: dict[int, bytearray] = field(default_factory=dict)
    _files: int = 0

    def _new(self) -> int:
        self._files += 1
        return self._files

    def _inside(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root + "/")

    def call(self, name: str, arguments: str, result: int, returned: str, since: int) -> None:
        """One call that returned without an error; `since` operations were there when it began."""
        paths = list(_paths(arguments)) if _is_name(name) else []
        descriptors = [
            (int(n), _decoded(path).decode()) for n, path in _DESCRIPTOR.findall(arguments)
        ]
        if name in ("openat", "creat"):
            self._opened(result, returned, arguments)
        elif paths and self._inside(paths[0]):
            self._renamed(name, *paths)
        elif not paths and descriptors:
            self._changed(name, descriptors, arguments, result, since)

    def _renamed(self, name: str, path: str, target: str = "") -> None:
        if name.startswith("mkdir"):
            if path == self.root:
                return  # known from the beginning
            self._name(Named(came=((path, self._new()),), folder=True))
        elif name.startswith("rename"):
            self._name(Named(gone=(path,), came=((target, self.names[path]),)))
            for below in [known for known in self.names if known.startswith(path + "/")]:
                self.names[target + below.removeprefix(path)] = self.names.pop(below)
        elif name.startswith("link"):
            self._name(Named(came=((target, self.names[path]),)))
        else:
            self._name(Named(gone=(path,)))

    def _changed(
        self,
        name: str,
        descriptors: Sequence[tuple[int, str]],
        arguments: str,
        result: int,
        since: int,
    ) -> None:
        number, path = descriptors[0]
        if name == "write" and path == self.notes:
            self.operations.append(Noted(_data(arguments).decode().rstrip()))
        elif path not in self.names:
            return
        elif name == "lseek":
            self._positions[number, self.names[path]] = result
        elif name in ("fsync", "fdatasync"):
            self.operations.append(Synced(self.names[path], since, path))
        elif name == "write":
            self._wrote(number, self.names[path], _data(arguments)[:result])
        elif name == "pwrite64":
            self._positions[number, self.names[path]] = int(arguments.rpartition(", ")[2])
            self._wrote(number, self.names[path], _data(arguments)[:result])
        elif name == "copy_file_range" and "NULL" in arguments:
            target, copy = descriptors[1]
            file = self.names[path]
            at = self._positions.get((number, file), 0)
            self._positions[number, file] = at + result
            contents = self._contents[file][at : at + result]
            self._wrote(target, self.names[copy], bytes(contents))
        else:
            # A way of writing that is not followed would make the replay a lie.
            raise AssertionError(f"{name}({arguments[:200]}) is not understood")

    def _opened(self, number: int, path: str, arguments: str) -> None:
        if not self._inside(path):
            return
        if path not in self.names and "O_CREAT" in arguments:
            self._name(Named(came=((path, self._new()),)))
        if path not in self.names:
            return
        file = self.names[path]
        if "O_TRUNC" in arguments and self._contents.get(file):
            self._contents[file].clear()
            self.operations.append(Emptied(file))
        at = len(self._contents.get(file, b"")) if "O_APPEND" in arguments else 0
        self._positions[number, file] = at

    def _name(self, change: Named) -> None:
        for path in change.gone:
            self.names.pop(path, None)
        self.names.update(change.came)
        self.operations.append(change)

    def _wrote(self, number: int, file: int, data: bytes) -> None:
        offset = self._positions.get((number, file), 0)
        self._positions[number, file] = offset + len(data)
        put(self._contents.setdefault(file, bytearray()), offset, data)
        self.operations.append(Written(file, offset, data))


def put(contents: bytearray, offset: int, data: bytes) -> None:
    """Write into contents as into a file."""
    contents.extend(bytes(max(0, offset + len(data) - len(contents))))
    contents[offset : offset + len(data)] = data


def _is_name(call: str) -> bool:
    return call.startswith(("mkdir", "rename", "link", "unlink", "rmdir"))


def _paths(arguments: str) -> Iterator[str]:
    """The paths that a call names, relative ones put after the folder that it names before."""
    for folder, path in _PATH.findall(arguments):
        yield os.path.join(_decoded(folder).decode(), _decoded(path).decode())  # noqa: PTH118


def _data(arguments: str) -> bytes:
    quoted = _QUOTED.search(arguments)
    return _decoded(quoted[1]) if quoted else b""


def _decoded(text: str) -> bytes:
    """What strace spelled in hexadecimal."""
    spelled = _HEX.sub(lambda m: bytes.fromhex(m[0].replace("\\x", "")).decode("latin-1"), text)
    return spelled.encode("latin-1")


@dataclass(frozen=True)
class Call:
    """A call that succeeded, and when (by lines of the recording) it began and took effect."""

    begun: int
    effect: int
    name: str
    arguments: str
    result: int
    returned: str


def read_recording(lines: Iterable[str], root: str, notes: str) -> list[Operation]:
    """The operations in the lines of strace, calls of several threads put together."""
    recorder = Recorder(root, notes)
    recorder.names[root] = 0
    effects: list[int] = []
    for call in sorted(_calls(lines), key=lambda call: call.effect):
        since = bisect_left(effects, call.begun)
        recorder.call(call.name, call.arguments, call.result, call.returned, since)
        effects += [call.effect] * (len(recorder.operations) - len(effects))
    return recorder.operations


def _calls(lines: Iterable[str]) -> Iterator[Call]:
    begun: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines):
        matched = _LINE.match(line.rstrip("\n"))
        if matched is None:
            continue
        thread, text = matched.groups()
        first = number
        if text.endswith("<unfinished ...>"):
            begun[thread] = (text.removesuffix("<unfinished ...>").rstrip(), number)
            continue
        if text.startswith("<..."):
            start, first = begun.pop(thread)
            text = start + text.partition(" resumed>")[2]
        call = _CALL.match(text)
        if call is not None and int(call[3]) >= 0:
            name, arguments, result, returned = call.groups()
            # Another thread may use a folder before the call that made it has returned.
            effect = first if name.startswith("mkdir") else number
            path = _decoded(returned or "").decode()
            yield Call(first, effect, name, arguments, int(result), path)


def record(command: Sequence[str], root: Path, notes: Path, log: Path) -> list[Operation]:
    """Run a command to its end: what it did below a root, with what it noted in between."""
    program = strace()
    assert program is not None
    subprocess.run(
        [
            program, "-f", "-qq", "-y", "-xx", "-s", "100000000",
            "-e", f"trace={CALLS}", "-o", str(log), *command,
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with log.open() as lines:
        return read_recording(lines, str(root), str(notes))
