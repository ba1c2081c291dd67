"""The proxy is transparent until a policy says otherwise, and counts what really happened."""

from __future__ import annotations

import http.client
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, HTTPClientError

from support.fixtures import BUCKET, unique_uri
from support.object_stores import ObjectStore
from support.policies import (
    CountRequests,
    DropResponses,
    Fail503,
    Latency,
    is_any,
    is_any_commit,
    is_graph_commit,
)
from support.processes import LOOPBACK
from support.proxy import Proxy, proxied


def unique_prefix() -> str:
    return unique_uri().rpartition("/")[2]


def connect(store: ObjectStore) -> http.client.HTTPConnection:
    address = urlsplit(store.endpoint)
    assert address.hostname is not None
    return http.client.HTTPConnection(address.hostname, address.port, timeout=10)


class Peculiar(BaseHTTPRequestHandler):
    """A server with the forms of HTTP that a well-behaved store seldom shows."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Trailer", "X-Sum")
            self.end_headers()
            self.wfile.write(b"5\r\nhello\r\n7;note=x\r\n, world\r\n0\r\nX-Sum: 12\r\n\r\n")
        elif self.path == "/until-close":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"z" * 300_000)
        else:
            self.send_response(int(self.path.strip("/")))
            self.end_headers()

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = f"{self.headers['Host']} {len(body)} {self.headers['Expect']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def peculiar() -> Iterator[ObjectStore]:
    with ThreadingHTTPServer((LOOPBACK, 0), Peculiar) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield ObjectStore("peculiar", f"http://{LOOPBACK}:{server.server_port}", "k", "s", "r")
        server.shutdown()
        thread.join()


@pytest.fixture
def counted(peculiar: ObjectStore) -> Iterator[tuple[Proxy, CountRequests]]:
    count = CountRequests()
    with proxied(peculiar, count) as proxy:
        yield proxy, count


def test_every_form_of_body_passes_on_one_connection(counted: tuple[Proxy, CountRequests]) -> None:
    proxy, count = counted
    connection = connect(proxy.store)
    for method, path, expected in [
        ("GET", "/chunked", b"hello, world"),
        ("HEAD", "/any", b""),
        ("GET", "/204", b""),
        ("GET", "/304", b""),
        ("GET", "/chunked", b"hello, world"),
        ("GET", "/until-close", b"z" * 300_000),
    ]:
        connection.request(method, path)
        assert connection.getresponse().read() == expected
    connection.close()
    assert [each.store_status for each in count.requests] == [200, 200, 204, 304, 200, 200]


def test_the_host_header_arrives_as_the_client_wrote_it(
    counted: tuple[Proxy, CountRequests],
) -> None:
    proxy, _ = counted
    connection = connect(proxy.store)
    connection.request("PUT", "/x", body=b"abc")
    answer = connection.getresponse().read().decode()
    connection.close()
    assert answer == f"{urlsplit(proxy.store.endpoint).netloc} 3 None"


def test_a_client_that_waits_for_100_continue_is_told_to_go_on(
    counted: tuple[Proxy, CountRequests],
) -> None:
    proxy, count = counted
    address = urlsplit(proxy.store.endpoint)
    with socket.create_connection((LOOPBACK, address.port or 0), timeout=10) as peer:
        peer.sendall(
            b"PUT /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 200000\r\n\r\n"
        )
        assert peer.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(b"b" * 200_000)
        assert peer.recv(1000).endswith(b"h 200000 None")
    assert [each.bytes_up for each in count.requests] == [200_000]


@pytest.mark.s3
@pytest.mark.parametrize("server", ["moto_store", "seaweed_store"])
def test_signed_requests_of_all_sizes_pass(server: str, request: pytest.FixtureRequest) -> None:
    store: ObjectStore = request.getfixturevalue(server)
    prefix = unique_prefix()
    bodies = {f"{prefix}/a {size}+ü": b"x" * size for size in (0, 1, 65_536, 65_537, 9_000_000)}
    count = CountRequests()
    with proxied(store, count) as proxy:
        client = proxy.store.client()
        for key, body in bodies.items():
            client.put_object(Bucket=BUCKET, Key=key, Body=body)
            assert client.get_object(Bucket=BUCKET, Key=key)["Body"].read() == body
            assert client.head_object(Bucket=BUCKET, Key=key)["ContentLength"] == len(body)
        assert sorted(proxy.store.list_keys(BUCKET, prefix)) == sorted(bodies)
        client.delete_object(Bucket=BUCKET, Key=next(iter(bodies)))
        client.close()
    operations = {"PUT": 5, "GET": 5, "HEAD": 5, "LIST": 1, "DELETE": 1}
    assert count.by_operation() == Counter(operations)
    assert count.by_method() == Counter({"PUT": 5, "GET": 6, "HEAD": 5, "DELETE": 1})
    sizes = sum(map(len, bodies.values()))
    assert sizes <= count.bytes_up() < sizes + 10_000
    assert sizes <= count.bytes_down() < sizes + 10_000
    count.reset()
    assert count.requests == []


@pytest.mark.s3
def test_many_connections_at_once_are_served_and_counted(moto_store: ObjectStore) -> None:
    prefix, count = unique_prefix(), CountRequests()
    with proxied(moto_store, count, Latency(0.0, 0.01)) as proxy:
        client = proxy.store.client()

        def write(number: int) -> None:
            client.put_object(Bucket=BUCKET, Key=f"{prefix}/{number}", Body=b"%d" % number)

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(write, range(300)))
        client.close()
    assert len(count.requests) == 300
    assert len(moto_store.list_keys(BUCKET, prefix)) == 300


@pytest.mark.s3
def test_a_response_dropped_after_forwarding_leaves_the_object(moto_store: ObjectStore) -> None:
    key = f"{unique_prefix()}/__manifest/_versions/1"
    count, drop = CountRequests(), DropResponses(1.0, limit=1)
    with proxied(moto_store, count, drop) as proxy:
        client = proxy.store.client()
        with pytest.raises(ConnectionClosedError):
            client.put_object(Bucket=BUCKET, Key=key, Body=b"1")
        client.put_object(Bucket=BUCKET, Key=f"{key}.other", Body=b"2")
        client.close()
    assert moto_store.list_keys(BUCKET, key) == [key, f"{key}.other"]
    assert [(each.outcome, each.store_status) for each in count.requests] == [
        ("dropped", 200),
        ("answered", 200),
    ]
    assert [hit.path for hit in drop.hits] == [f"/{BUCKET}/{key}"]


@pytest.mark.s3
def test_a_response_dropped_before_forwarding_leaves_nothing(moto_store: ObjectStore) -> None:
    key = f"{unique_prefix()}/__manifest/_versions/1"
    count = CountRequests()
    with proxied(moto_store, count, DropResponses(1.0, when="before")) as proxy:
        client = proxy.store.client()
        with pytest.raises(HTTPClientError):
            client.put_object(Bucket=BUCKET, Key=key, Body=b"1")
        client.close()
    assert moto_store.list_keys(BUCKET, key) == []
    assert [(each.outcome, each.store_status) for each in count.requests] == [("dropped", None)]


@pytest.mark.s3
@pytest.mark.parametrize(("when", "objects"), [("before", 0), ("after", 1)])
def test_503_says_nothing_about_the_object(
    moto_store: ObjectStore, when: str, objects: int
) -> None:
    key = f"{unique_prefix()}/__manifest/_versions/1"
    fail = Fail503(1.0, when="before" if when == "before" else "after")
    with proxied(moto_store, fail) as proxy:
        client = proxy.store.client()
        for _ in range(2):
            with pytest.raises(ClientError, match="SlowDown"):
                client.put_object(Bucket=BUCKET, Key=key, Body=b"1")
        proxy.use()
        client.list_objects_v2(Bucket=BUCKET)
        client.close()
    assert len(moto_store.list_keys(BUCKET, key)) == objects


def test_the_same_seed_breaks_the_same_requests(peculiar: ObjectStore) -> None:
    def broken(seed: int) -> list[bool]:
        count = CountRequests()
        with proxied(peculiar, count, Fail503(0.3, is_any, seed=seed)) as proxy:
            connection = connect(proxy.store)
            for _ in range(40):
                connection.request("GET", "/204")
                connection.getresponse().read()
            connection.close()
        return [each.outcome == "refused" for each in count.requests]

    assert broken(7) == broken(7)
    assert broken(7) != broken(8)
    assert 3 < sum(broken(7)) < 25


def test_faults_fall_on_commits_of_the_graph_unless_told_otherwise(peculiar: ObjectStore) -> None:
    graph, table = "/b/g/__manifest/_versions/1", "/b/g/nodes/_versions/1"
    default, wide = Fail503(1.0, is_graph_commit), Fail503(1.0, is_any_commit)
    with proxied(peculiar, default, wide) as proxy:
        connection = connect(proxy.store)
        for path in (graph, table, "/b/g/nodes/data/1"):
            connection.request("PUT", path, body=b"")
            connection.getresponse().read()
        connection.close()
    assert [hit.path for hit in default.hits] == [graph]
    assert [hit.path for hit in wide.hits] == [table]


def test_a_store_that_is_gone_breaks_the_connection(peculiar: ObjectStore) -> None:
    gone = ObjectStore("gone", f"http://{LOOPBACK}:9", "k", "s", "r")
    count = CountRequests()
    with proxied(gone, count) as proxy:
        connection = connect(proxy.store)
        connection.request("GET", "/x")
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()
        connection.close()
    assert [(each.outcome, each.store_status) for each in count.requests] == [("broken", None)]


def test_the_way_through_the_proxy_is_short(peculiar: ObjectStore) -> None:
    def seconds_each(store: ObjectStore) -> float:
        connection = connect(store)
        started = time.perf_counter()
        for _ in range(300):
            connection.request("GET", "/204")
            connection.getresponse().read()
        connection.close()
        return (time.perf_counter() - started) / 300

    with proxied(peculiar, CountRequests()) as proxy:
        overhead = seconds_each(proxy.store) - seconds_each(peculiar)
    # All three parties share one interpreter here; to a store in its own process it is less.
    assert overhead < 0.005
