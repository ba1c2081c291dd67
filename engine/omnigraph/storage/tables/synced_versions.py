"""Versions of a Lance dataset on local disk, each synced before it has a name.

Lance writes a version file under a name of its own and leaves the naming to us (its *managed
versioning*): the only place where a version can be made durable before anybody can see it
(docs/design/decisions/0024-synced-before-named.md). Lance must not be called from in here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lance import LanceDataset
from lance.namespace import LanceNamespace
from lance_namespace import (
    CreateTableVersionResponse,
    DescribeTableVersionResponse,
    ListTableVersionsResponse,
    TableVersion,
)
from lance_namespace.errors import ConcurrentModificationError, TableVersionNotFoundError

from omnigraph.errors import StorageError, SyncFailed
from omnigraph.storage.core.file_sync import FileSync
from omnigraph.storage.core.layout import VERSIONS, version_file, version_of
from omnigraph.storage.tables.digest_names import mark_file


class VersionInDoubt(Exception):
    """A version has its name, and the disk did not confirm it: a power cut may take it back."""

    def __init__(self, failure: SyncFailed) -> None:
        self.failure = failure
        super().__init__(str(failure))


class VersionTaken(Exception):
    """The first version of a dataset was created by somebody else."""


class SyncedVersions(LanceNamespace):  # type: ignore[misc]  # Lance has no types for it
    """Names the versions of one dataset; one is made for each commit, and knows how it ended."""

    def __init__(
        self,
        dataset: str,
        sync: FileSync,
        files: Callable[[], Iterable[Path | str]] = tuple,
        *,
        first: bool = False,
    ) -> None:
        self._folder = Path(dataset)
        self._sync = sync
        self._files = files
        """What versions need besides their own file: the files of the change."""
        self._first = first
        self.failed: Exception | None = None
        """Why the version was not named, or is in doubt."""

    def namespace_id(self) -> str:
        return str(self._folder)

    def create_table_version(self, request: Mapping[str, Any]) -> CreateTableVersionResponse:
        """Sync a staged version with all it needs, its digest noted, then name it; one that is
        there stays."""
        final = self._folder / version_file(request["version"])
        staged = final.parent / request["manifest_path"].rpartition("/")[2]
        size = staged.stat().st_size
        mark: Path | None = None
        try:
            if self._first and self._numbers():
                raise FileExistsError
            mark = mark_file(self._folder, final.name, staged)
            self._sync.sync([*self._files(), staged, mark])
            os.link(staged, final)
        except FileExistsError as error:
            if mark is not None:
                mark.unlink(missing_ok=True)
            if self._first:
                self.failed = VersionTaken(str(self._folder))
            raise ConcurrentModificationError(f"{final.name} exists already") from error
        except StorageError as error:
            self.failed = error
            raise
        except OSError as error:
            if not _is_same_file(staged, final):  # which a lost answer of a network leaves
                self.failed = _unnamed(final, error)
                raise self.failed from error
        finally:
            staged.unlink(missing_ok=True)
        try:
            self._sync.sync([], [final.parent])
        except SyncFailed as error:
            self.failed = VersionInDoubt(error)
            raise
        return CreateTableVersionResponse(version=_described(final, request["version"], size))

    def describe_table_version(self, request: Mapping[str, Any]) -> DescribeTableVersionResponse:
        """Where a version is; Lance asks for it after a failure."""
        number = request.get("version") or max(self._numbers(), default=0)
        path = self._folder / version_file(number)
        if not path.exists():
            raise TableVersionNotFoundError(f"there is no {path.name}")
        return DescribeTableVersionResponse(version=_described(path, number, path.stat().st_size))

    def list_table_versions(self, request: Mapping[str, Any]) -> ListTableVersionsResponse:
        """The versions, newest first; who makes the first one is told of none."""
        numbers = [] if self._first else sorted(self._numbers(), reverse=True)
        found = [self._folder / version_file(number) for number in numbers[: request.get("limit")]]
        return ListTableVersionsResponse(
            versions=[
                _described(path, number, path.stat().st_size)
                for path, number in zip(found, numbers, strict=False)
            ]
        )

    def _numbers(self) -> list[int]:
        names = os.listdir(self._folder / VERSIONS)
        return [number for name in names if (number := version_of(name)) is not None]


def _is_same_file(staged: Path, final: Path) -> bool:
    return final.exists() and final.samefile(staged)


def _unnamed(final: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot write {final}: {error.strerror or error}",
        hint="Check that the disk is writable and has room; nothing was changed.",
    )


def _described(path: Path, number: int, size: int) -> TableVersion:
    return TableVersion(version=number, manifest_path=str(path).lstrip("/"), manifest_size=size)


def commit_synced(
    base: LanceDataset | str,
    operation: Any,  # noqa: ANN401
    versions: SyncedVersions,
    **options: Any,  # noqa: ANN401
) -> LanceDataset:
    """Commit a Lance operation or transaction on local disk; return when it is durable.

    Raises the `StorageError` for which nothing was named, `VersionTaken` when a first
    version is there already, and `VersionInDoubt` when the new name may not last.
    """
    try:
        committed = LanceDataset.commit(
            base,
            operation,
            namespace_client=versions,
            table_id=["table"],
            namespace_client_managed_versioning=True,
            **options,
        )
    except Exception as error:
        if versions.failed is not None:
            raise versions.failed from error
        raise
    if versions.failed is not None:
        raise versions.failed
    return committed
