"""Fixtures that put a test on a store: `pytest --store=local|moto|seaweed`, local unless told.

A server is started once in each test process and only when a test asks for it, so pytest-xdist
workers never share one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.object_stores import ObjectStore, StoreUnavailable, moto, s3rver, seaweed

BUCKET = "omnigraph-tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store",
        choices=("local", "moto", "seaweed"),
        default="local",
        help="where the graphs of the tests live (default: local)",
    )


@pytest.fixture(scope="session")
def seaweed_store() -> Iterator[ObjectStore]:
    """SeaweedFS with the bucket of the tests."""
    try:
        with seaweed() as store:
            store.create_bucket(BUCKET)
            yield store
    except StoreUnavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def moto_store() -> Iterator[ObjectStore]:
    """moto with the bucket of the tests."""
    with moto() as store:
        store.create_bucket(BUCKET)
        yield store


@pytest.fixture(scope="session")
def s3rver_store() -> Iterator[ObjectStore]:
    """The store that ignores conditions, with the bucket of the tests."""
    try:
        with s3rver() as store:
            store.create_bucket(BUCKET)
            yield store
    except StoreUnavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture
def store(request: pytest.FixtureRequest) -> ObjectStore | None:
    """The object store chosen with `--store`, None for the local file system."""
    name = str(request.config.getoption("--store"))
    if name == "local":
        return None
    chosen = request.getfixturevalue(f"{name}_store")
    assert isinstance(chosen, ObjectStore)
    return chosen


@pytest.fixture
def store_environment(store: ObjectStore | None) -> dict[str, str]:
    """What a child process needs in its environment, beside its own, to reach the graph."""
    return {} if store is None else store.environment()


@pytest.fixture
def root(
    store: ObjectStore | None,
    store_environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A graph root nobody has used, reachable from this process for the length of the test."""
    if store is None:
        return str(tmp_path / "graph")
    use_environment(monkeypatch, store)
    return unique_uri()


def use_environment(monkeypatch: pytest.MonkeyPatch, store: ObjectStore) -> None:
    """Let this process reach `store`, or a proxy's `store`, until the test ends."""
    for name, value in store.environment().items():
        monkeypatch.setenv(name, value)


def unique_uri(bucket: str = BUCKET) -> str:
    return f"s3://{bucket}/{uuid.uuid4().hex}"
