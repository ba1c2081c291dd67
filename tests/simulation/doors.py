"""The doors of storage with a step before every effect, and without waiting.

The code between the doors is the real one. A killed actor finds all of them shut, so that its
`finally` blocks change nothing, as those of a process that was killed. Locks between processes and
pauses are left out: both are there for speed, and correctness must not rest on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import Any
from unittest import mock

from omnigraph.storage import graph_store
from omnigraph.storage.commit import publisher, retry
from omnigraph.storage.commit.machine_lock import MachineLock
from omnigraph.storage.constraints import endpoints
from omnigraph.storage.core import failpoints, model
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.manifest.commit_outcome import ManifestOutcomeUnknown
from omnigraph.storage.manifest.manifest import Manifest
from omnigraph.storage.tables.tables import TableStore
from simulation.scheduler import Scheduler


class InlineExecutor(Executor):
    """Runs what it is given at once, in the thread that gives it."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - what a pool does; an end goes on to the top
            future.set_exception(error)
        return future


@contextmanager
def scheduled(scheduler: Scheduler) -> Iterator[None]:
    """Every effect of an actor on the store waits for its turn."""

    def before(owner: type, name: str) -> Any:  # noqa: ANN401
        original = getattr(owner, name)

        def stepped(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            scheduler.step(f"{owner.__name__}.{name}")
            return original(self, *args, **kwargs)

        return mock.patch.object(owner, name, stepped)

    def listed(self: RawStore, prefix: str) -> Iterator[Any]:
        scheduler.step(f"RawStore.list {prefix}")
        return iter(list(original_list(self, prefix)))

    def prepared(self: Manifest, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        done = original_prepare(self, *args, **kwargs)
        scheduler.step("swap")
        return done

    def swapped(self: Manifest, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        scheduler.step("Manifest.compare_and_swap")
        actor = scheduler.current()
        fault = actor.next_swap if actor else None
        if actor and fault:
            actor.next_swap = None
        if fault == "failed":
            raise ManifestOutcomeUnknown("the store did not answer")
        landed = original_swap(self, *args, **kwargs)
        if fault == "lost":
            raise ManifestOutcomeUnknown("the answer was lost")
        return landed

    class SkewedDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:  # noqa: ANN401
            actor = scheduler.current()
            return datetime.now(tz) + timedelta(seconds=actor.skew if actor else 0)

    original_list, original_prepare = RawStore.list, Manifest._prepare
    original_swap = Manifest.compare_and_swap
    patches = [
        before(Manifest, "refresh"),
        before(Manifest, "open"),
        before(Manifest, "exists"),
        before(Manifest, "create"),
        before(RawStore, "delete"),
        before(RawStore, "write"),
        before(TableStore, "write"),
        before(TableStore, "_commit"),
        mock.patch.object(RawStore, "list", listed),
        mock.patch.object(Manifest, "_prepare", prepared),
        mock.patch.object(Manifest, "compare_and_swap", swapped),
        mock.patch.object(MachineLock, "__enter__", lambda self: None),
        mock.patch.object(MachineLock, "__exit__", lambda self, *_: None),
        mock.patch.object(retry, "pause", lambda factor: scheduler.step("pause")),
        mock.patch.object(publisher, "pause", lambda factor: scheduler.step("pause")),
        mock.patch.object(graph_store, "ThreadPoolExecutor", InlineExecutor),
        mock.patch.object(endpoints, "ThreadPoolExecutor", InlineExecutor),
        mock.patch.object(model, "datetime", SkewedDatetime),
        failpoints.watch(scheduler.step),
    ]
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield
