"""The only door to `__manifest`: read its named rows, change them atomically.

A *named* row (a head, the allocator, a table, a schema, a registration) exists at most once under
its object id; commits, versions and tombstones are history and are only ever added. A change
replaces named rows by marking their old row deleted and adding the new one in the same Lance
transaction. All changes meet in one fragment that is not there (`SHARED_CLAIM`): of two built on
one view Lance lets only one land, whichever rows they are about, names that do not exist yet
included.

A change reads nothing: the addresses of named rows and the rows of small fragments are known from
the view it is built on. A merge-insert on `object_id` would give the same guarantee through the key
annotation, but reads every fragment that its index does not cover yet
(docs/design/decisions/0003-publish-is-a-compare-and-swap.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from lance import LanceDataset, LanceFragment, LanceOperation, Transaction
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.errors import Corruption, NotFound, StorageError
from omnigraph.storage.core.compaction_policy import FANOUT, choose_compaction
from omnigraph.storage.core.failpoints import BEFORE_CREATE, failpoint
from omnigraph.storage.core.file_sync import FileSync, files_below
from omnigraph.storage.core.lance_filter import text_literal
from omnigraph.storage.core.layout import MANIFEST, VERSIONS, is_local, version_file, version_of
from omnigraph.storage.core.model import Head
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.core.row_addresses import address_condition, split_by_fragment
from omnigraph.storage.manifest.commit_outcome import (
    ManifestConflict,
    ManifestNotDurable,
    ManifestOutcomeUnknown,
    committing,
)
from omnigraph.storage.manifest.format_version import require_readable, stamped
from omnigraph.storage.manifest.fragment_cache import (
    HISTORY_TYPES,
    FragmentKey,
    NamedRows,
    SeenFragments,
    SeenParents,
    fragment_key,
    named_files,
    named_files_property,
    read_rows,
    short_name,
)
from omnigraph.storage.manifest.read_damage import (
    ComparedFiles,
    damaged_version,
    parsed,
    unreadable,
)
from omnigraph.storage.manifest.row_codec import MANIFEST_SCHEMA, ManifestRow, rows_table
from omnigraph.storage.tables.deletion_vectors import rows_key
from omnigraph.storage.tables.digest_names import (
    named_deletion,
    named_fragments,
    unmark_versions,
)
from omnigraph.storage.tables.synced_versions import (
    SyncedVersions,
    VersionInDoubt,
    VersionTaken,
    commit_synced,
)

KEPT_VERSIONS = 16
"""Manifest versions that are never trimmed. More would make every commit's listing longer."""
TRIMMED_VERSIONS = 64
"""How far below those a trim reaches, so that one that failed is made up for."""
SHARED_CLAIM = (1 << 32) - 1
"""A fragment that never exists and that every change claims to remove.

Lance finds conflicts only in version files that it can still list. A writer that stalled until the
version that moved its row was trimmed would otherwise land next to it. With a claim that all
share, any change since then is a conflict, and the newest one is always listed
(docs/design/decisions/0003-publish-is-a-compare-and-swap.md).
"""

FEW_FRAGMENTS = 2
"""Reading so many is no more work than finding out which to read."""

_NAMED = "object_type NOT IN ({})".format(", ".join(f"'{name}'" for name in HISTORY_TYPES))


@dataclass(frozen=True, slots=True)
class Located:
    """A named row and where it is."""

    row: ManifestRow
    address: int


@dataclass(frozen=True, slots=True)
class ManifestView:
    """The named rows of one version of the manifest."""

    dataset: LanceDataset
    named: Mapping[str, Located]
    by_fragment: NamedRows
    heads: dict[str, Head] = field(default_factory=dict, compare=False, repr=False)
    """Heads that were parsed already, by branch."""

    @property
    def version(self) -> int:
        return int(self.dataset.version)

    def row(self, object_id: str) -> ManifestRow | None:
        """The named row of that id."""
        located = self.named.get(object_id)
        return located.row if located else None

    def rows(self, object_type: str) -> list[ManifestRow]:
        """All named rows of a type, by id."""
        return [
            located.row
            for _, located in sorted(self.named.items())
            if located.row["object_type"] == object_type
        ]


@dataclass(frozen=True, slots=True)
class ManifestChange:
    """One atomic change of the manifest."""

    replace: Sequence[ManifestRow] = ()
    """Named rows that exist and get new contents: what changes contend on, so never empty."""
    add: Sequence[ManifestRow] = ()
    """Rows that are new: history, or names guarded by a replaced row. The commit comes first."""
    remove: Sequence[str] = ()
    """Names that are deleted."""
    remove_addresses: Sequence[int] = ()
    """History rows that are deleted, by address in the view."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A change whose files are written: the Lance transaction, and the view it will lead to."""

    transaction: Transaction
    named_rows: NamedRows
    written: Sequence[FragmentMetadata]
    updated: Sequence[FragmentMetadata]
    """Fragments with a new deletion file."""
    trims: bool
    """Whether it should delete old versions: a few changes do, those that compact or leave no
    marks, so that it does not take more requests than the others."""


class Manifest:
    """The manifest of one graph in this process."""

    def __init__(
        self,
        root: str,
        options: Mapping[str, str],
        session: Any,  # noqa: ANN401
        sync: FileSync | None = None,
    ) -> None:
        self._sync = sync or FileSync(root)
        self.uri = f"{root}/{MANIFEST}"
        self._options = dict(options)
        self._session = session
        self._raw = RawStore(self.uri, options)
        self._seen = SeenFragments()
        self._compared = ComparedFiles(self.uri)
        self._parents = SeenParents()

    # ------------------------------------------------------------------ reading

    def exists(self) -> bool:
        """Whether a manifest is there."""
        try:
            with parsed(self.uri):
                lance.dataset(self.uri, storage_options=self._options, session=self._session)
        except Corruption:
            return True
        except (ValueError, FileNotFoundError):
            return self._has_versions()
        except OSError as error:
            raise StorageError(f"cannot read {self.uri}: {error}") from error
        return True

    def open(self) -> ManifestView:
        """The newest version."""
        try:
            with parsed(self.uri):
                dataset = lance.dataset(
                    self.uri, storage_options=self._options, session=self._session
                )
                self._compared.require_sound(dataset)
        except (ValueError, FileNotFoundError) as error:
            if self._has_versions():
                raise unreadable(self.uri, error) from error
            raise NotFound(
                f"there is no graph at {self.uri.removesuffix('/' + MANIFEST)}",
                hint="Create one with `omnigraph init SCHEMA URI` or omnigraph.init().",
            ) from error
        except OSError as error:
            if damaged_version(self.uri) is not None:
                raise unreadable(self.uri, error) from error
            raise StorageError(f"cannot open {self.uri}: {error}") from error
        return self._view(dataset, {})

    def _has_versions(self) -> bool:
        """Whether there is something that is, or was, a manifest."""
        folder = f"{self.uri}/{VERSIONS}"
        if is_local(self.uri):
            try:
                names = os.listdir(folder) if Path(folder).is_dir() else []
                # A cut inside an `init` leaves a version that has no name yet: that is no graph.
                return any(version_of(name) is not None for name in names)
            except OSError as error:
                raise StorageError(
                    f"cannot read {folder}: {error.strerror}",
                    hint="Check that you may read the folder of the graph.",
                ) from error
        return next(iter(self._raw.list(VERSIONS)), None) is not None

    def refresh(self, view: ManifestView) -> ManifestView:
        """The newest version; the same view when nothing was committed since."""
        try:
            latest = view.dataset.latest_version
            if latest == view.version:
                return view
            with parsed(self.uri):
                dataset = view.dataset.checkout_version(latest)
                self._compared.require_sound(dataset)
        except (OSError, ValueError):
            # The version seen a moment ago can be trimmed by a busy writer: resolve it again.
            return self.open()
        return self._view(dataset, view.by_fragment)

    def _view(self, dataset: LanceDataset, named_rows: NamedRows) -> ManifestView:
        with parsed(self.uri):
            return self._read_view(dataset, named_rows)

    def _read_view(self, dataset: LanceDataset, named_rows: NamedRows) -> ManifestView:
        require_readable(dataset)
        fragments = {fragment_key(fragment): fragment for fragment in dataset.get_fragments()}
        unseen = {key: fragment for key, fragment in fragments.items() if key not in named_rows}
        fresh: dict[FragmentKey, list[tuple[str, ManifestRow, int]]] = {key: [] for key in unseen}
        if len(unseen) > FEW_FRAGMENTS:
            holders = named_files(dataset)
            if holders is not None:
                unseen = {key: f for key, f in unseen.items() if short_name(key[0]) in holders}
        if unseen:
            key_of = {fragment.fragment_id: key for key, fragment in unseen.items()}
            for row, address in self._scan(dataset, _NAMED, list(unseen.values())):
                fresh[key_of[address >> 32]].append((row["object_id"], row, address & 0xFFFFFFFF))
        by_fragment = {
            key: named_rows[key] if key in named_rows else tuple(fresh[key]) for key in fragments
        }
        named = {
            object_id: Located(row, (fragments[key].fragment_id << 32) | offset)
            for key, rows in by_fragment.items()
            for object_id, row, offset in rows
        }
        return ManifestView(dataset, named, by_fragment)

    def _scan(
        self,
        dataset: LanceDataset,
        condition: str | None,
        fragments: list[LanceFragment] | None = None,
    ) -> list[tuple[ManifestRow, int]]:
        table = read_rows(dataset, condition, fragments)
        addresses = table.column("_rowaddr").to_pylist()
        rows = table.select(MANIFEST_SCHEMA.names).to_pylist()
        return list(zip(rows, addresses, strict=True))

    def history(self, view: ManifestView, condition: str) -> list[tuple[ManifestRow, int]]:
        """History rows that match a condition, with their addresses."""
        return self._scan(view.dataset, condition)

    def parents(self, view: ManifestView) -> Mapping[str, tuple[str, ...]]:
        """The parents of every commit; reads two short columns, whatever commits hold."""
        return self._parents.of(view.dataset)

    def own_rows(self, view: ManifestView, branch: str) -> list[int]:
        """Addresses of a branch's version rows, which go with it: a later branch of the name
        starts numbering again."""
        kinds = "object_type IN ('table_version', 'table_tombstone')"
        condition = f"table_branch = {text_literal(branch)} AND {kinds}"
        rows = read_rows(view.dataset, condition, None, ["object_id"])
        addresses: list[int] = rows.column("_rowaddr").to_pylist()
        return addresses

    def find(self, view: ManifestView, object_id: str) -> ManifestRow | None:
        """One row by its id, history included."""
        located = view.named.get(object_id)
        if located:
            return located.row
        rows = self._scan(view.dataset, f"object_id = {text_literal(object_id)}")
        return rows[0][0] if rows else None

    # ------------------------------------------------------------------ writing

    def create(self, rows: Iterable[ManifestRow]) -> ManifestView:
        """Write the first version; the second of two creators gets a `ManifestConflict`, however
        late: a first version is never deleted."""
        table = stamped(rows_table(rows))
        failpoint(BEFORE_CREATE)
        try:
            if is_local(self.uri):
                self._create_on_disk(table)
                return self.open()
            dataset = lance.write_dataset(
                table,
                self.uri,
                mode="create",
                storage_options=self._options,
                session=self._session,
                enable_v2_manifest_paths=True,
            )
        except VersionTaken as error:
            raise ManifestConflict(str(error)) from error
        except VersionInDoubt as error:
            raise StorageError(
                f"the graph may not survive a power cut: {error}",
                hint="Check the disk, then open the graph to see whether it is there.",
            ) from error
        except OSError as error:
            if "exists" in str(error).lower():
                raise ManifestConflict(str(error)) from error
            raise StorageError(
                f"cannot create {self.uri}: {error}",
                hint="Check that the folder or bucket exists, is writable and has room.",
            ) from error
        return self._view(dataset, {})

    def _create_on_disk(self, table: pa.Table) -> None:
        [fragment] = named_fragments(self.uri, [LanceFragment.create(self.uri, table)])
        files = _new_files(self.uri, [fragment], [])
        commit_synced(
            self.uri,
            LanceOperation.Overwrite(table.schema, [fragment]),
            SyncedVersions(self.uri, self._sync, lambda: files, first=True),
            enable_v2_manifest_paths=True,
        )

    def compare_and_swap(self, view: ManifestView, change: ManifestChange) -> ManifestView:
        """Apply a change built on a view, or raise `ManifestConflict` and change nothing."""
        try:
            prepared = self._prepare(view, change)
        except (OSError, ValueError, pa.ArrowException) as error:
            # An old view can refer to files that were collected; a new one cannot.
            if self.refresh(view).version != view.version:
                raise ManifestConflict(str(error)) from error
            raise StorageError(
                f"cannot write to the manifest: {error}",
                hint="Check that the store is writable and has room; nothing was changed.",
            ) from error
        with committing():
            committed = self._land(view, prepared)
        landed = self._landed(self._view(committed, prepared.named_rows), change)
        if prepared.trims:
            self._trim(landed)
        return landed

    def commit_upgrade(self, dataset: LanceDataset, operation: Any) -> None:  # noqa: ANN401
        """Commit a step of an upgrade, whatever files it has written, durably; or raise
        `ManifestConflict`."""
        try:
            with committing():
                self._commit_upgrade(dataset, operation)
        except (ManifestNotDurable, ManifestOutcomeUnknown) as error:
            raise StorageError(
                f"the format of the graph may not have been upgraded: {error}",
                hint="Check that the store is writable and has room, then try again.",
            ) from error

    def _commit_upgrade(self, dataset: LanceDataset, operation: Any) -> LanceDataset:  # noqa: ANN401
        if not is_local(self.uri):
            return LanceDataset.commit(dataset, operation, read_version=dataset.version)
        versions = SyncedVersions(self.uri, self._sync, lambda: files_below(Path(self.uri, "data")))
        return commit_synced(dataset, operation, versions, read_version=dataset.version)

    def _land(self, view: ManifestView, prepared: _Prepared) -> LanceDataset:
        if not is_local(self.uri):
            return LanceDataset.commit(view.dataset, prepared.transaction)
        files = _new_files(self.uri, prepared.written, prepared.updated)
        versions = SyncedVersions(self.uri, self._sync, lambda: files)
        return commit_synced(view.dataset, prepared.transaction, versions)

    def _prepare(self, view: ManifestView, change: ManifestChange) -> _Prepared:
        """Write the new rows and deletion marks of a change; nothing refers to them yet."""
        deleted = list(change.remove_addresses)
        for object_id in [row["object_id"] for row in change.replace] + list(change.remove):
            if object_id not in view.named:
                raise ManifestConflict(f"{object_id} was deleted")
            deleted.append(view.named[object_id].address)
        dataset = view.dataset
        by_id = {fragment.fragment_id: fragment for fragment in dataset.get_fragments()}
        compacted = choose_compaction({i: fragment.physical_rows for i, fragment in by_id.items()})
        removed, updated = list(compacted), []
        for fragment_id, addresses in split_by_fragment(np.array(deleted, np.uint64)):
            if fragment_id in compacted:
                continue
            left = by_id[fragment_id].delete(address_condition(addresses))
            if left is None:
                removed.append(fragment_id)
            else:
                updated.append(named_deletion(self.uri, left))
        live_rows = self._seen.live_rows(dataset, [by_id[i] for i in compacted], deleted)
        rows = pa.concat_tables([rows_table([*change.replace, *change.add]), *live_rows])
        written = named_fragments(self.uri, write_fragments(rows, dataset))
        named_rows = dict(view.by_fragment)
        for metadata in updated:
            named_rows |= self._seen.shrunk(view.by_fragment, by_id[metadata.id], metadata, deleted)
        if len(written) == 1:
            named_rows |= self._seen.written(written[0], rows)
        operation = LanceOperation.Update(
            removed_fragment_ids=[*removed, SHARED_CLAIM],
            updated_fragments=updated,
            new_fragments=written,
            fields_modified=[],
        )
        stays = {i: f for i, f in by_id.items() if i not in {*removed, *(m.id for m in updated)}}
        keys = [*map(fragment_key, stays.values()), *map(rows_key, updated)]
        holders = [key[0] for key in keys if named_rows[key]] + [f.files[0].path for f in written]
        transaction = Transaction(
            read_version=view.version,
            operation=operation,
            transaction_properties=named_files_property(holders),
        )
        trims = bool(compacted) or (not updated and view.version % FANOUT == 0)
        return _Prepared(transaction, named_rows, written, updated, trims)

    def _landed(self, view: ManifestView, change: ManifestChange) -> ManifestView:
        """Make sure that a commit that the store acknowledged is part of the newest version.

        A writer that stalls until its version file was trimmed can create it again and be told
        that it succeeded, on a dead end (docs/design/format/publish.md#trimming). That takes at
        least as many newer
        versions as are never trimmed; so look at the newest version once more.
        """
        try:
            newest = self.refresh(view)
            dead_end = newest.version - view.version >= KEPT_VERSIONS and not self._holds(
                newest, change
            )
        except StorageError as error:
            raise ManifestOutcomeUnknown(str(error)) from error
        if dead_end:
            raise ManifestConflict("the commit was overtaken by newer manifest versions and lost")
        return newest

    def _holds(self, view: ManifestView, change: ManifestChange) -> bool:
        """Whether a change is surely part of a view: only history is nobody else's to write.

        A change of names that may be there or not is simply built again (see `change_names`).
        """
        history = [row for row in change.add if row["object_type"] in HISTORY_TYPES]
        return bool(history) and self.find(view, history[0]["object_id"]) is not None

    def _trim(self, view: ManifestView) -> None:
        """Delete the files of manifest versions that nobody resolves any more, by their names.

        Never the first: while it is there, nobody can create a manifest in this one's place.
        """
        horizon = view.version - KEPT_VERSIONS
        with suppress(StorageError):  # the change has landed; the next trim deletes what is left
            self._raw.delete(
                version_file(number)
                for number in range(max(2, horizon - TRIMMED_VERSIONS), horizon)
            )
            unmark_versions(self.uri, horizon)


def _new_files(
    uri: str, written: Sequence[FragmentMetadata], updated: Sequence[FragmentMetadata]
) -> list[Path]:
    """The files that a change of the manifest at a path has written."""
    data = [Path(uri, "data", file.path) for each in written for file in each.files]
    marks = [Path(uri, each.deletion_file.path(each.id)) for each in updated if each.deletion_file]
    return [*data, *marks]
