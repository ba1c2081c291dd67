"""Lance on the stores and through the proxy: what it needs, what it asks, what faults do to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import lance
import pyarrow as pa
import pytest

from support.fixtures import BUCKET, unique_uri, use_environment
from support.object_stores import ObjectStore
from support.policies import CountRequests, DropResponses, Fail503
from support.proxy import proxied

APPENDS = 30
SERVERS = pytest.mark.parametrize("server", ["moto_store", "seaweed_store"])
pytestmark = pytest.mark.s3


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(dataset: lance.LanceDataset) -> list[int]:
    return sorted(dataset.to_table().column("id").to_pylist())


@SERVERS
def test_lance_writes_appends_merges_and_commits_detached(
    server: str, request: pytest.FixtureRequest
) -> None:
    store: ObjectStore = request.getfixturevalue(server)
    uri, options = unique_uri(), store.storage_options()
    lance.write_dataset(rows(1, 2), uri, storage_options=options)
    dataset = lance.write_dataset(rows(3), uri, mode="append", storage_options=options)
    merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(rows(3, 4))
    assert ids(lance.dataset(uri, storage_options=options)) == [1, 2, 3, 4]

    fragments = lance.fragment.write_fragments(rows(5), uri, storage_options=options)
    detached = lance.LanceDataset.commit(
        uri,
        lance.LanceOperation.Append(fragments),
        read_version=dataset.version,
        storage_options=options,
        detached=True,
    )
    latest = lance.dataset(uri, storage_options=options)
    assert ids(latest) == [1, 2, 3, 4]
    assert ids(latest.checkout_version(detached.version)) == [1, 2, 3, 4, 5]


@SERVERS
def test_the_environment_alone_is_enough(
    server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_environment(monkeypatch, request.getfixturevalue(server))
    uri = unique_uri()
    lance.write_dataset(rows(1), uri)
    assert ids(lance.dataset(uri)) == [1]


def test_a_child_process_reaches_the_store(moto_store: ObjectStore) -> None:
    uri = unique_uri()
    lance.write_dataset(rows(1, 2, 3), uri, storage_options=moto_store.storage_options())
    child = subprocess.run(
        [sys.executable, "-c", f"import lance; assert lance.dataset({uri!r}).count_rows() == 3"],
        env={**os.environ, **moto_store.environment()},
        check=False,
    )
    assert child.returncode == 0


@SERVERS
def test_the_requests_of_an_append_are_counted_by_kind(
    server: str, request: pytest.FixtureRequest
) -> None:
    store: ObjectStore = request.getfixturevalue(server)
    uri, count = unique_uri(), CountRequests()
    with proxied(store, count) as proxy:
        options = proxy.store.storage_options()
        dataset = lance.write_dataset(rows(1), uri, storage_options=options)
        count.reset()
        lance.write_dataset(rows(2), dataset, mode="append", storage_options=options)
        puts = Counter({kind: n for kind, n in count.by_kind().items() if kind[0] == "PUT"})
    assert puts == Counter(
        {("PUT", "data"): 1, ("PUT", "_transactions"): 1, ("PUT", "_versions"): 1}
    )
    assert {each.outcome for each in count.requests} == {"answered"}
    written = {each.path for each in count.requests if each.method == "PUT"}
    prefix = uri.removeprefix(f"s3://{BUCKET}/")
    assert written < {f"/{BUCKET}/{key}" for key in store.list_keys(BUCKET, prefix)}


# Built anew for each test: a policy carries its random state and its hits with it.
FAULTS: dict[str, Callable[[], DropResponses | Fail503]] = {
    "drop-after": lambda: DropResponses(0.3, when="after", seed=11),
    "drop-before": lambda: DropResponses(0.3, when="before", seed=12),
    "503-before": lambda: Fail503(0.3, when="before", seed=13),
    "503-after": lambda: Fail503(0.3, when="after", seed=14),
}


@SERVERS
@pytest.mark.parametrize("name", FAULTS)
def test_appends_through_faults_lose_and_double_nothing(
    server: str, name: str, request: pytest.FixtureRequest
) -> None:
    store: ObjectStore = request.getfixturevalue(server)
    uri, count, fault = f"{unique_uri()}/__manifest", CountRequests(), FAULTS[name]()
    lance.write_dataset(rows(), uri, storage_options=store.storage_options())
    with proxied(store, count, fault) as proxy:
        for number in range(APPENDS):
            options = proxy.store.storage_options()
            lance.write_dataset(rows(number), uri, mode="append", storage_options=options)
    assert ids(lance.dataset(uri, storage_options=store.storage_options())) == list(range(APPENDS))
    faulty = [each for each in count.requests if each.outcome in ("dropped", "refused")]
    assert len(faulty) == len(fault.hits) > 3
    # Only faults after forwarding leave the client in doubt: some of these writes had happened.
    assert any(each.store_status == 200 for each in faulty) == name.endswith("after")
