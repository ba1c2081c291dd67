"""How a commit of the manifest can fail: not there, perhaps there, or there and not durable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lance.commit import CommitConflictError

from omnigraph.storage.tables.synced_versions import VersionInDoubt


class ManifestConflict(Exception):
    """Another writer moved a row that the change was based on; nothing was changed."""


class ManifestOutcomeUnknown(Exception):
    """The store failed in the middle of the commit; it may or may not have landed."""


class ManifestNotDurable(Exception):
    """The commit landed, and the disk did not confirm it: a power cut may take it back."""


_CONFLICTS = ("onflict", "Merge insert failed", "Too many concurrent writ")
"""How Lance says that others were faster where it has no class for it."""


@contextmanager
def committing() -> Iterator[None]:
    """How a commit of the manifest inside this block failed, as one of the three."""
    try:
        yield
    except CommitConflictError as error:
        raise ManifestConflict(str(error)) from error
    except VersionInDoubt as error:
        raise ManifestNotDurable(str(error)) from error
    except (OSError, ValueError, RuntimeError) as error:
        if any(text in str(error) for text in _CONFLICTS):
            raise ManifestConflict(str(error)) from error
        raise ManifestOutcomeUnknown(str(error)) from error
