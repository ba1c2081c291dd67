"""Embeddings from a provider that speaks OpenAI's HTTP interface.

Responses are checked before use; transient failures are tried again with pauses. The key goes into
one header and nowhere else: not into errors, not into `repr`. Redirects are not followed, since
that would hand the key to a host nobody named.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from omnigraph.embedding.embedder import Vectors, normalised
from omnigraph.errors import InvalidInput, ProviderError

BATCH_TEXTS = 128
BATCH_BYTES = 256 << 10
ATTEMPTS = 4
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
ANSWER_BYTES = 256 << 20
_SHOWN = 300
_PIECE = 1 << 16


class _TransientFailure(Exception):
    """A failure that may be gone on the next attempt, and how long the provider asks to wait."""

    def __init__(self, problem: str, wait: float | None = None) -> None:
        super().__init__(problem)
        self.wait = wait


@dataclass(frozen=True)
class OpenAIEmbedder:
    """`timeout` is for a whole request, in seconds; `sleep` is how to wait between attempts."""

    url: str
    model: str
    dimension: int
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _is_base(self.url):
            raise InvalidInput(
                "the URL of the embedding provider is not valid",
                hint="Give the base URL, like https://api.openai.com/v1.",
            )
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise InvalidInput("the API key of the embedding provider has unprintable characters")

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [np.empty((0, self.dimension), np.float32)]
        parts += [self._embed_batch(batch) for batch in _batches(texts)]
        return np.concatenate(parts)

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        body = {"model": self.model, "input": list(texts), "dimensions": self.dimension}
        response = self._request_with_retries(json.dumps(body).encode())
        return normalised(_vectors(response, len(texts), self.dimension))

    def _request_with_retries(self, body: bytes) -> bytes:
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._request(body)
            except _TransientFailure as failure:
                if attempt == ATTEMPTS:
                    raise ProviderError(
                        f"the embedding provider failed {ATTEMPTS} times: {failure}",
                        hint="Try again later, or check OMNIGRAPH_EMBEDDING_URL.",
                    ) from failure
                self.sleep(min(LONGEST_PAUSE, pause if failure.wait is None else failure.wait))
                pause *= 2
        raise AssertionError("unreachable")

    def _request(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        deadline = time.monotonic() + self.timeout
        connection = self._connection()
        try:
            connection.request(
                "POST", f"{urlsplit(self.url).path.rstrip('/')}/embeddings", body, headers
            )
            with connection.getresponse() as response:
                return self._accepted(response, _read(response, deadline))
        except ssl.SSLCertVerificationError as error:
            raise ProviderError(
                f"the embedding provider's certificate is not trusted: {error.verify_message}"
            ) from error
        except (OSError, HTTPException) as error:
            raise _TransientFailure(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname, parts.port, timeout=self.timeout)

    def _accepted(self, response: HTTPResponse, body: bytes) -> bytes:
        if response.status == 200:
            return body
        text = body.decode(errors="replace")[:_SHOWN].strip()
        if self.key:
            text = text.replace(self.key, "…")
        problem = f"HTTP {response.status} {response.reason}: {text}"
        if response.status == 429 or response.status >= 500:
            raise _TransientFailure(problem, _seconds(response.headers.get("Retry-After")))
        raise ProviderError(
            f"the embedding provider refused: {problem}",
            hint="Check OMNIGRAPH_EMBEDDING_URL, _MODEL and _KEY.",
            details={"status": response.status},
        )


def _is_base(url: str) -> bool:
    try:
        parts = urlsplit(url)
        extra = parts.query or parts.fragment or parts.username or (parts.port == 0)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not extra


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode(errors="replace"))
        if batch and (len(batch) == BATCH_TEXTS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _read(response: HTTPResponse, deadline: float) -> bytes:
    """The whole body, unless it takes too long or is far beyond what was asked for."""
    parts = []
    size = 0
    while part := response.read1(_PIECE):
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError("the response took too long")
        if size > ANSWER_BYTES:
            raise ProviderError(f"the embedding provider's response exceeds {ANSWER_BYTES} bytes")
    if response.length:
        raise ConnectionError("the response broke off")
    return b"".join(parts)


def _seconds(header: str | None) -> float | None:
    # It may be a date, too; then our own pause does.
    return float(header) if header is not None and header.strip().isdecimal() else None


# --------------------------------------------------------------------------- responses


def _vectors(response: bytes, count: int, dimension: int) -> npt.NDArray[np.float64]:
    """The embeddings of an answer in the order of the texts, checked for their shape."""
    try:
        items: list[dict[str, Any]] = json.loads(response)["data"]
        positions = [item.get("index", i) for i, item in enumerate(items)]
        rows = [item["embedding"] for item in items]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ProviderError(f"the embedding provider's response is not valid: {error}") from error
    if sorted(map(repr, positions)) != sorted(map(repr, range(count))):
        raise ProviderError(f"the embedding provider sent {len(rows)} embeddings for {count} texts")
    vectors = np.empty((count, dimension))
    for position, row in zip(positions, rows, strict=True):
        if not isinstance(row, list) or len(row) != dimension:
            raise ProviderError(
                f"the embedding provider sent {_shape(row)}, but the property has {dimension}",
                hint="Use a model of the property's dimension.",
            )
        vectors[position] = _numbers(row)
    return vectors


def _shape(row: object) -> str:
    return f"{len(row)} dimensions" if isinstance(row, list) else f"a {type(row).__name__}"


def _numbers(row: list[Any]) -> npt.NDArray[np.float64]:
    if not all(type(value) in (float, int) for value in row):
        raise ProviderError("an embedding has a component that is not a number")
    try:
        return np.array(row, np.float64)
    except OverflowError as error:
        raise ProviderError("an embedding has a component that is not finite") from error
