"""The door to the object store under a graph: raw files, never tables.

Lance reads and writes tables itself; this module lists and deletes files for the collector, reads
and writes deletion files, probes what the store promises, and turns the AWS environment into the
options both need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, ObjectStore, S3Store, from_url

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import StorageError, UnsafeStore
from omnigraph.storage.core.file_digests import blocks
from omnigraph.storage.core.file_sync import FileSync
from omnigraph.storage.core.layout import is_local

_PROBES = "__probe"
"""The folder of files that are written to learn something of the store, and deleted at once."""
_TRUE = frozenset({"1", "true", "yes", "on"})
PIECE = 8 << 20
"""So many bytes of a file that is streamed are in memory at a time."""


class StoredFile(NamedTuple):
    """A file below a root: its relative path, its size, and when it was written."""

    path: str
    size: int
    modified: datetime | None = None
    """By the clock of the store; none for a file that was not listed."""


def storage_options(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Options for Lance and the raw store: the caller's, completed from the AWS variables.

    `AWS_ENDPOINT_URL_S3` goes before `AWS_ENDPOINT_URL`; credentials and region are read from the
    environment by the store itself.
    """
    options = {key.lower(): value for key, value in (given or {}).items()}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        options.setdefault("aws_endpoint", endpoint)
    if "allow_http" in options:
        options.setdefault("aws_allow_http", options["allow_http"].lower())
    if os.environ.get("AWS_ALLOW_HTTP", "").lower() in _TRUE:
        options.setdefault("aws_allow_http", "true")
    path_style = os.environ.get("AWS_S3_FORCE_PATH_STYLE", "").lower()
    if path_style:
        options.setdefault(
            "aws_virtual_hosted_style_request", "false" if path_style in _TRUE else "true"
        )
    return options


class RawStore:
    """Files below one root."""

    def __init__(self, root: str, options: Mapping[str, str], sync: FileSync | None = None) -> None:
        self.root = root
        self.sync = sync or FileSync(root)
        """Makes files durable: nothing that is written here is, until it is asked for."""
        self._options = options

    @cached_property
    def _store(self) -> ObjectStore:
        """Opened when it is first needed: looking for a graph must not make a folder."""
        return _open(self.root, self._options)

    def list(self, prefix: str) -> Iterator[StoredFile]:
        """Every file below a folder of the root."""
        try:
            for batch in obstore.list(self._store, prefix=prefix):
                for item in batch:
                    yield StoredFile(item["path"], item["size"], item["last_modified"])
        except BaseError as error:
            raise StorageError(f"cannot list {prefix!r} below {self.root}: {error}") from error

    def read(self, path: str) -> bytes | None:
        """The contents of a file, none when there is no such file."""
        try:
            return bytes(obstore.get(self._store, path).bytes())
        except FileNotFoundError:
            return None
        except BaseError as error:
            raise StorageError(f"cannot read {path!r} below {self.root}: {error}") from error

    def blocks(self, path: str) -> Iterator[bytes]:
        """The contents of a file that is there, piece by piece."""
        if is_local(self.root):
            yield from self._local_blocks(path)
            return
        pieces = self.stream(path)
        if pieces is None:
            raise StorageError(f"cannot read {path!r} below {self.root}: there is no such file")
        yield from pieces

    def _local_blocks(self, path: str) -> Iterator[bytes]:
        """The same by the file system: many files at once, with one small block of each."""
        try:
            yield from blocks(Path(self.root, path))
        except OSError as error:
            raise StorageError(
                f"cannot read {path!r} below {self.root}: {error.strerror}",
                hint="Check that the file is there and that you may read it.",
            ) from error

    def stream(self, path: str) -> Iterator[bytes] | None:
        """The contents of a file in pieces of some MiB, none when there is no such file."""
        try:
            found = obstore.get(self._store, path)
        except FileNotFoundError:
            return None
        except BaseError as error:
            raise StorageError(f"cannot read {path!r} below {self.root}: {error}") from error
        return self._pieces(path, found)

    def _pieces(self, path: str, found: obstore.GetResult) -> Iterator[bytes]:
        try:
            for piece in found.stream(min_chunk_size=PIECE):
                yield bytes(piece)
        except BaseError as error:
            raise StorageError(f"cannot read {path!r} below {self.root}: {error}") from error

    def upload(self, path: str, pieces: Iterable[bytes]) -> None:
        """Make or replace a file of an object store: it has all of its contents, or is not there.

        What the pieces raise is raised, and then nothing was changed: the file gets its name when
        the writer is closed.
        """
        try:
            writer = obstore.open_writer(self._store, path, buffer_size=PIECE, max_concurrency=2)
            for piece in pieces:  # which may come from a store, so not inside a request to this one
                writer.write(piece)
            writer.close()
        except BaseError as error:
            raise StorageError(
                f"cannot write {path!r} below {self.root}: {error}",
                hint="Check that the store is writable and has room.",
            ) from error

    def create(self, path: str, contents: bytes) -> bool:
        """Make a new file, whole or not at all; false when one of that name is there."""
        try:
            obstore.put(self._store, path, contents, mode="create")
        except AlreadyExistsError:
            return False
        except (BaseError, OSError) as error:
            raise StorageError(
                f"cannot write {path!r} below {self.root}: {error}",
                hint="Check that the store is writable and has room; nothing was changed.",
            ) from error
        return True

    def write(self, path: str, contents: bytes) -> None:
        """Make a new file."""
        try:
            self._create(path, contents)
        except (BaseError, OSError) as error:
            raise StorageError(
                f"cannot write {path!r} below {self.root}: {error}",
                hint="Check that the store is writable and has room; nothing was changed.",
            ) from error

    def _create(self, path: str, contents: bytes) -> None:
        """Make a new file, unless exactly that is there.

        A request whose answer was lost is sent again by the client, and then meets its own file.
        """
        try:
            obstore.put(self._store, path, contents, mode="create")
        except AlreadyExistsError:
            if self.read(path) != contents:
                raise

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; one that is missing is no error."""
        every = list(paths)
        try:
            for start in range(0, len(every), 1000):
                obstore.delete(self._store, every[start : start + 1000])
        except FileNotFoundError:
            for path in every:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, path)
        except BaseError as error:
            raise StorageError(f"cannot delete files below {self.root}: {error}") from error

    def now(self) -> datetime:
        """The current instant by the clock of the store: when it says that a new file was made."""
        name = f"{_PROBES}/{new_ulid()}"
        try:
            if is_local(self.root):
                with NamedTemporaryFile(dir=self.root, prefix=_PROBES) as file:
                    return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
            obstore.put(self._store, name, b"")
            made = obstore.head(self._store, name)["last_modified"]
            self.delete([name])
        except (BaseError, OSError) as error:
            raise StorageError(
                f"cannot write below {self.root}: {error}",
                hint="Check that the bucket or folder exists and that you may write to it.",
            ) from error
        return made

    def delete_empty_folders(self, folders: Iterable[str]) -> None:
        """Delete local folders with all folders in them, unless a file is there; object stores have
        none."""
        if not is_local(self.root):
            return
        for folder in folders:
            for where, _, _ in os.walk(os.path.join(self.root, folder), topdown=False):
                with suppress(OSError):  # not empty
                    os.rmdir(where)

    def require_conditional_put(self) -> None:
        """Refuse a store on which two writers could both create the same file."""
        key, first, second = f"{_PROBES}/{new_ulid()}", *(new_ulid().encode() for _ in range(2))
        try:
            self._create(key, first)
            try:
                self._create(key, second)
            except AlreadyExistsError:
                if self.read(key) == first:
                    return
            finally:
                self.delete([key])
        except (BaseError, OSError) as error:
            raise StorageError(
                f"cannot write below {self.root}: {error}",
                hint="Check that the bucket or folder exists and that you may write to it.",
            ) from error
        raise UnsafeStore(
            f"the store under {self.root} ignores conditional writes: commits could be lost",
            hint="Use a store that honours `If-None-Match: *`, such as Amazon S3 or SeaweedFS.",
        )


class StoredFolder:
    """Files of one folder below a root, by their names in it. It exists while it has files."""

    def __init__(self, raw: RawStore, name: str) -> None:
        self._raw = raw
        self._prefix = f"{name}/"

    def list(self) -> Iterator[StoredFile]:
        """Every file of the folder."""
        for file in self._raw.list(self._prefix):
            yield StoredFile(file.path.removeprefix(self._prefix), file.size)

    def read(self, name: str) -> bytes | None:
        """The contents of a file, none when there is no such file."""
        return self._raw.read(self._prefix + name)

    def write(self, name: str, contents: bytes) -> None:
        """Make a new, durable file: a torn one could be taken for a shorter one."""
        self._raw.write(self._prefix + name, contents)
        self._raw.sync.sync([self._prefix + name])

    def delete(self, names: Iterable[str]) -> None:
        """Delete files; one that is already gone is no error."""
        self._raw.delete([self._prefix + name for name in names])


def _open(root: str, options: Mapping[str, str]) -> ObjectStore:
    if is_local(root):
        return LocalStore(root)
    parts = urlsplit(root)
    config = {key: value for key, value in options.items() if key.startswith("aws_")}
    client: Any = {"allow_http": config.pop("aws_allow_http", "false") == "true"}
    if parts.scheme != "s3":
        return from_url(root)
    return S3Store.from_url(root, config=cast(Any, config), client_options=client)
