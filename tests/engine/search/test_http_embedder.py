"""The HTTP embedder against a real server, well-behaved and otherwise."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from omnigraph.embedding import OpenAIEmbedder, openai
from omnigraph.errors import InvalidInput, ProviderError

KEY = "sk-very-secret"


class Provider(ThreadingHTTPServer):
    """Answers with the scripted replies first, then as a provider should."""

    daemon_threads = False  # so that closing the server waits for its answers

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.delay = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def will_reply(self, status: int, body: bytes, **headers: str) -> None:
        self.replies.append((status, headers, body))

    def will_embed(self, *vectors: list[Any]) -> None:
        items = [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        self.will_reply(200, json.dumps({"data": items}).encode())


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(question | {"path": self.path})
        self.server.headers.append(dict(self.headers))
        time.sleep(self.server.delay)
        # Texts come back in another order, as providers may do.
        items = [
            {"index": i, "embedding": [len(text), 1.0, 0.0]}
            for i, text in reversed(list(enumerate(question["input"])))
        ]
        if not self.server.replies:
            self.server.will_reply(200, json.dumps({"data": items}).encode())
        status, headers, body = self.server.replies.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", headers.pop("length", str(len(body))))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        # Who asked may have given up.
        with suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def embedder(provider: Provider, pauses: list[float]) -> OpenAIEmbedder:
    return OpenAIEmbedder(provider.url, "m", 3, KEY, timeout=5.0, sleep=pauses.append)


def test_texts_come_back_as_unit_vectors_in_order(
    provider: Provider, embedder: OpenAIEmbedder
) -> None:
    vectors = embedder.embed(["abc", "ä"])
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [
        pytest.approx([3 / math.sqrt(10), 1 / math.sqrt(10), 0.0]),
        pytest.approx([math.sqrt(0.5), math.sqrt(0.5), 0.0]),
    ]
    question = {"model": "m", "input": ["abc", "ä"], "dimensions": 3, "path": "/v1/embeddings"}
    assert provider.requests == [question]
    assert provider.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent(provider: Provider) -> None:
    OpenAIEmbedder(provider.url + "/", "m", 3).embed(["a"])
    assert "Authorization" not in provider.headers[0]
    assert provider.requests[0]["path"] == "/v1/embeddings"


def test_many_texts_are_sent_in_batches(
    provider: Provider, embedder: OpenAIEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "BATCH_TEXTS", 2)
    monkeypatch.setattr(openai, "BATCH_BYTES", 10)
    vectors = embedder.embed(["a", "bb", "ccc", "d" * 9, "e" * 20, "f"])
    sent = [request["input"] for request in provider.requests]
    assert sent == [["a", "bb"], ["ccc"], ["d" * 9], ["e" * 20], ["f"]]
    assert (vectors[:, 0] / vectors[:, 1]).tolist() == pytest.approx([1, 2, 3, 9, 20, 1])


def test_no_texts_ask_nobody(provider: Provider, embedder: OpenAIEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 3)
    assert provider.requests == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_failures_are_tried_again(
    provider: Provider, embedder: OpenAIEmbedder, pauses: list[float], status: int
) -> None:
    provider.will_reply(status, b"busy")
    provider.will_reply(status, b"busy")
    assert embedder.embed(["a"]).shape == (1, 3)
    assert pauses == [0.5, 1.0]


def test_the_provider_may_say_how_long_to_wait(
    provider: Provider, embedder: OpenAIEmbedder, pauses: list[float]
) -> None:
    provider.will_reply(429, b"", Retry_After="7")
    provider.will_reply(429, b"", Retry_After="86400")
    provider.will_reply(429, b"", Retry_After="Wed, 21 Oct 2026 07:28:00 GMT")
    embedder.embed(["a"])
    assert pauses == [7.0, 30.0, 2.0]


def test_patience_ends(provider: Provider, embedder: OpenAIEmbedder, pauses: list[float]) -> None:
    for _ in range(9):
        provider.will_reply(503, f"overloaded, {KEY}".encode())
    with pytest.raises(ProviderError, match="failed 4 times: HTTP 503") as caught:
        embedder.embed(["a"])
    assert (len(provider.requests), pauses) == (4, [0.5, 1.0, 2.0])
    assert KEY not in str(caught.value)
    assert KEY not in str(caught.value.__cause__)


@pytest.mark.parametrize("status", [302, 400, 401, 404])
def test_refusals_are_final_and_keep_the_key(
    provider: Provider, embedder: OpenAIEmbedder, status: int
) -> None:
    provider.will_reply(status, f"bad key {KEY}".encode(), Location="http://127.0.0.1:1/")
    with pytest.raises(ProviderError, match=f"HTTP {status}") as caught:
        embedder.embed(["a"])
    assert len(provider.requests) == 1
    assert KEY not in str(caught.value)
    assert caught.value.details == {"status": status}


@pytest.mark.parametrize(
    "vector",
    [[1.0, 2.0], [1.0] * 4, [], [1.0, math.nan, 0.0], [math.inf, 1, 1], [0, 0, 0], "AAAA"]
    + [[1, None, 2], [True, 1, 1], ["1", 1, 1], [10**400, 1, 1], [[1], 1, 1], None],
)
def test_vectors_that_cannot_be_used_are_refused(
    provider: Provider,
    embedder: OpenAIEmbedder,
    vector: Any,  # noqa: ANN401
) -> None:
    provider.will_embed([1.0, 0.0, 0.0], vector)
    with pytest.raises(ProviderError):
        embedder.embed(["a", "b"])
    assert len(provider.requests) == 1


ITEM = b'{"index": %s, "embedding": [1, 2, 3]}'


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"not json", b"[]", b"{}", b"[" * 100_000, b"\xff"),
        *(b'{"data": %s}' % data for data in (b"1", b"[1, 2]", b"[]", b"[%s]" % (ITEM % b"0"))),
        *(
            b'{"data": [%s, %s]}' % (ITEM % index, ITEM % b"0")
            for index in (b"0", b"7", b"1.0", b"true", b'"1"', b"null")
        ),
    ],
)
def test_answers_that_make_no_sense_are_refused(
    provider: Provider, embedder: OpenAIEmbedder, body: bytes
) -> None:
    provider.will_reply(200, body)
    with pytest.raises(ProviderError):
        embedder.embed(["a", "b"])


def test_answers_without_numbers_come_in_order(
    provider: Provider, embedder: OpenAIEmbedder
) -> None:
    items = [{"embedding": [0.0, 2.0, 0.0]}, {"embedding": [0.0, 0.0, -3.0]}]
    provider.will_reply(200, json.dumps({"data": items}).encode())
    assert embedder.embed(["a", "b"]).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]


def test_a_slow_provider_times_out(provider: Provider, pauses: list[float]) -> None:
    provider.delay = 0.6
    impatient = OpenAIEmbedder(provider.url, "m", 3, KEY, timeout=0.05, sleep=pauses.append)
    with pytest.raises(ProviderError, match="failed 4 times: TimeoutError"):
        impatient.embed(["a"])
    assert len(pauses) == 3


def test_an_answer_that_breaks_off_is_asked_for_again(
    provider: Provider, embedder: OpenAIEmbedder, pauses: list[float]
) -> None:
    provider.will_reply(200, b'{"data"', length="100")
    assert embedder.embed(["a"]).shape == (1, 3)
    assert pauses == [0.5]


def test_an_endless_answer_is_given_up(
    provider: Provider, embedder: OpenAIEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "ANSWER_BYTES", 1000)
    provider.will_reply(200, b" " * 100_000)
    with pytest.raises(ProviderError, match="exceeds"):
        embedder.embed(["a"])


def test_nobody_listening_is_a_provider_failure(pauses: list[float]) -> None:
    lonely = OpenAIEmbedder("http://127.0.0.1:1/v1", "m", 3, KEY, timeout=1.0, sleep=pauses.append)
    with pytest.raises(ProviderError, match="ConnectionRefusedError"):
        lonely.embed(["a"])


def test_the_key_is_never_shown(embedder: OpenAIEmbedder) -> None:
    assert KEY not in repr(embedder)
    with pytest.raises(InvalidInput) as caught:
        OpenAIEmbedder("http://h/v1", "m", 3, KEY + "\r\nX: y")
    assert KEY not in str(caught.value)
