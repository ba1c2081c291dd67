"""Where a graph is: a storage URI that executors read themselves, or a server they query.

Options of the data source in one location, checked once, as a value that travels to executors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph import Graph

SERVER_SCHEMES = ("grpc://", "grpc+tcp://", "grpc+tls://", "grpc+mtls://")
STORAGE_PREFIX = "storage."


@dataclass(frozen=True)
class GraphLocation:
    """One graph as executors find it."""

    uri: str
    storage: tuple[tuple[str, str], ...] = ()
    """Options of the object store; what is not given comes from the environment."""
    durability: str | None = None
    """What commits on local disk survive: `sync` a power cut, `os` the end of the process."""
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls_roots: str | None = field(default=None, repr=False)
    """Certificates (PEM) that the server's certificate is checked against."""
    tls_cert: str | None = field(default=None, repr=False)
    tls_key: str | None = field(default=None, repr=False)
    """The client's certificate and key (PEM), for a server that requires them."""
    tls_skip_verify: bool = False
    graph_name: str | None = None
    """Which graph of a server that has several."""

    @property
    def is_server(self) -> bool:
        """Whether Spark reaches the graph through a server."""
        return self.uri.startswith(SERVER_SCHEMES)

    def graph(self) -> Graph:
        """The graph at a storage URI, opened once in this process."""
        return _opened(self.uri, self.storage, self.durability)


@lru_cache(maxsize=8)
def _opened(uri: str, storage: tuple[tuple[str, str], ...], durability: str | None = None) -> Graph:
    import omnigraph

    return omnigraph.open(uri, storage_options=dict(storage), durability=durability)


def _pem(options: Mapping[str, str], name: str) -> str | None:
    """A certificate or a key: as text, or a file that only the driver needs to have."""
    value = options.get(name)
    if value is None or value.lstrip().startswith("-----BEGIN"):
        return value
    try:
        return Path(value).read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{name} cannot be read: {error}", hint="Give the PEM text, or the path of a file."
        ) from error


def location_of(options: Mapping[str, str]) -> GraphLocation:
    """The location that the options of a data source name; their keys are in lower case."""
    uri = options.get("uri") or options.get("path")
    if not uri:
        raise InvalidInput(
            "the option `uri` is missing",
            hint='Say where the graph is: .option("uri", "grpc://host:port" or a path or s3://…).',
        )
    storage = {
        key.removeprefix(STORAGE_PREFIX): value
        for key, value in options.items()
        if key.startswith(STORAGE_PREFIX)
    }
    location = GraphLocation(
        uri,
        tuple(sorted(storage.items())),
        options.get("durability"),
        options.get("token"),
        options.get("user"),
        options.get("password"),
        _pem(options, "tls.roots"),
        _pem(options, "tls.cert"),
        _pem(options, "tls.key"),
        options.get("tls.skip_verify", "false").lower() == "true",
        options.get("graph"),
    )
    if location.is_server and location.durability:
        raise InvalidInput(
            "the option `durability` goes with a storage URI",
            hint="A server has a setting of that name.",
        )
    return location
