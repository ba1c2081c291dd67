"""Several NDJSON files as one input, so that they go into one commit."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from omnigraph.errors import LoadError, NotFound


class ChainedFiles(io.RawIOBase):
    """Files read one after the other; remembers which line came from which file."""

    def __init__(self, paths: Sequence[Path]) -> None:
        from omnigraph.loading.line_framing import require_ndjson

        for path in paths:
            require_ndjson(path)
            if not path.exists():
                raise NotFound(f"there is no file {str(path)!r}")
        self.size = sum(path.stat().st_size for path in paths)
        self._waiting = list(paths)
        self._file: BinaryIO | None = None
        self._starts: list[tuple[int, Path]] = []
        self._lines = 0
        self._last = b"\n"

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to that many bytes, of one file at a time; nothing at the end of the last one."""
        if size == 0:
            return b""
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 20), b""))
        while True:
            if self._file is None:
                if not self._waiting:
                    return b""
                path = self._waiting.pop(0)
                self._file = path.open("rb")
                self._starts.append((self._lines, path))
            data = self._file.read(size)
            if data:
                return self._counted(data)
            self._file.close()
            self._file = None
            if self._last != b"\n":
                # The last line of a file may lack its line feed; the next file is a new line.
                return self._counted(b"\n")

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()

    def located(self, error: LoadError) -> LoadError:
        """The error with the line counted in its own file, and the name of the file."""
        if error.line is None or not self._starts:
            return error
        before, path = next(
            (start for start in reversed(self._starts) if start[0] < error.line), self._starts[0]
        )
        line = error.line - before
        words = error.message.removeprefix(f"line {error.line}: ")
        located = LoadError(
            error.reason, words, line=line, type_name=error.type_name, field=error.field
        )
        located.message = f"{path}: {located.message}"
        located.details["load_error"]["file"] = str(path)
        return located

    def _counted(self, data: bytes) -> bytes:
        self._lines += data.count(b"\n")
        self._last = data[-1:]
        return data
