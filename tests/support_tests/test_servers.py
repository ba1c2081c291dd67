"""The servers start, say why when they do not, and differ where they must: in conditional PUTs."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from support import object_stores
from support.fixtures import BUCKET, unique_uri
from support.object_stores import ObjectStore, StoreUnavailable, s3rver
from support.processes import ServerDidNotStart, free_ports, port_answers, running

KEYS = 40
# Two: of four writers of a key, SeaweedFS keeps some waiting a whole second.
RACERS = 2


def winners_of_a_race(store: ObjectStore) -> list[int]:
    """How many writers each of 40 keys acknowledged, of two that put it at once if absent."""
    prefix = unique_uri().rpartition("/")[2]
    client = store.client()
    start = threading.Barrier(RACERS)

    def race(racer: int) -> list[bool]:
        return [put_if_absent(f"{prefix}/{key:02}", b"%d" % racer) for key in range(KEYS)]

    def put_if_absent(key: str, body: bytes) -> bool:
        start.wait(timeout=20)
        try:
            client.put_object(Bucket=BUCKET, Key=key, Body=body, IfNoneMatch="*")
        except ClientError as refused:
            assert refused.response["ResponseMetadata"]["HTTPStatusCode"] in (409, 412)
            return False
        return True

    try:
        with ThreadPoolExecutor(RACERS) as pool:
            columns = list(pool.map(race, range(RACERS)))
    finally:
        client.close()
    return [sum(won) for won in zip(*columns, strict=True)]


@pytest.mark.s3
def test_seaweed_lets_one_writer_win_each_key(seaweed_store: ObjectStore) -> None:
    assert winners_of_a_race(seaweed_store) == [1] * KEYS


@pytest.mark.s3
def test_moto_lets_one_writer_win_each_key(moto_store: ObjectStore) -> None:
    assert winners_of_a_race(moto_store) == [1] * KEYS


@pytest.mark.s3
def test_s3rver_acknowledges_both_writers_of_each_key(s3rver_store: ObjectStore) -> None:
    assert winners_of_a_race(s3rver_store) == [RACERS] * KEYS


@pytest.mark.s3
def test_seaweed_refuses_a_wrong_signature(seaweed_store: ObjectStore) -> None:
    stranger = ObjectStore("stranger", seaweed_store.endpoint, "omnigraph", "wrong", "us-east-1")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        stranger.list_keys(BUCKET)


def test_without_npm_s3rver_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_stores, "_REPOSITORY", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnavailable, match="npm is missing"), s3rver():
        pass


def test_a_server_that_exits_is_quoted() -> None:
    command = [sys.executable, "-c", "raise SystemExit('no licence to serve')"]
    with (
        pytest.raises(ServerDidNotStart, match="no licence to serve"),
        running("quitter", command, free_ports(1)[0]),
    ):
        pass


def test_a_server_that_stays_silent_is_given_up_and_ended() -> None:
    command = [sys.executable, "-c", "import time; print('thinking', flush=True); time.sleep(60)"]
    with (
        pytest.raises(ServerDidNotStart, match="not ready after 1 s(.|\n)*thinking"),
        running("thinker", command, free_ports(1)[0], start_seconds=1.0),
    ):
        pass


def test_a_server_that_ignores_the_request_to_end_is_killed() -> None:
    (port,) = free_ports(1)
    stubborn = (
        "import signal, socket, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"s = socket.create_server(('127.0.0.1', {port})); time.sleep(60)"
    )
    with running("stubborn", [sys.executable, "-c", stubborn], port, grace_seconds=0.2) as server:
        assert port_answers(port)
    assert server.process.returncode == -9
    assert not port_answers(port)


def test_ports_of_one_call_are_distinct() -> None:
    assert len(set(free_ports(50))) == 50
