"""Where statements run: on a remote server, or on one that this process starts."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.omnigraph.credentials import OmniGraphCredentials


class Environment(ABC):
    """A Flight SQL server at an address."""

    @abstractmethod
    def address(self) -> str:
        """The address to connect to; starts the server if needed."""

    @abstractmethod
    def close(self) -> None:
        """Stop the server, if it was started here."""


class Remote(Environment):
    """A server that runs elsewhere."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def address(self) -> str:
        return self._uri

    def close(self) -> None:
        """Nothing was started."""


class Embedded(Environment):
    """A server in this process, on a loopback address; creates the graph if it is missing."""

    def __init__(self, path: str, durability: str | None = None) -> None:
        self._path = path
        self._durability = durability
        self._lock = threading.Lock()
        self._server: Any = None

    def address(self) -> str:
        with self._lock:
            if self._server is None:
                self._server = self._start()
            return str(self._server.uri)

    def _start(self) -> Any:  # noqa: ANN401 - the server is an optional dependency
        try:
            import omnigraph
            from omnigraph.errors import NotFound
            from omnigraph_flight import Config, Server
        except ImportError as error:
            raise DbtRuntimeError(
                "a profile with `path` runs the server in this process and needs it installed: "
                "pip install 'dbt-omnigraph[embedded]', or give the `uri` of a server"
            ) from error
        try:
            omnigraph.open(self._path, durability=self._durability)
        except NotFound:
            omnigraph.init(self._path, "", durability=self._durability)
        return Server(Config({"graph": self._path}, port=0, durability=self._durability))

    def close(self) -> None:
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None


def environment_for(credentials: OmniGraphCredentials) -> Environment:
    """The environment that a profile asks for."""
    if credentials.uri is not None:
        return Remote(credentials.uri)
    assert credentials.path is not None
    return Embedded(credentials.path, credentials.durability)
