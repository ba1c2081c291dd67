"""A profile: where the graph is, which branch to publish to, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

Publish = Literal["on_success", "manual", "direct"]


@dataclass
class OmniGraphCredentials(Credentials):
    """One output of `profiles.yml`. Either `path` or `uri` says where the graph is."""

    database: str = "main"
    """The branch that a run publishes to; profiles call it `branch`."""
    schema: str = "public"
    path: str | None = None
    """A graph that this process opens itself: no server needed."""
    durability: str | None = None
    """What commits to `path` survive on local disk: `sync` a power cut, `os` the process's end."""
    uri: str | None = None
    """The address of a server: grpc://host:port or grpc+tls://host:port."""
    graph: str | None = None
    """Which graph, on a server that has several."""
    token: str | None = None
    username: str | None = None
    password: str | None = None
    tls_root_certs: str | None = None
    tls_skip_verify: bool = False
    publish: Publish = "on_success"
    run_branch: str | None = None
    """The branch that `publish: manual` writes to; by default `dbt/<target>`."""
    branch_ttl: str = "7d"
    """The time to live of the branch of a failed run; collection deletes it then."""
    spark_remote: str | None = None
    """The Spark Connect server that runs Python models; by default Spark runs in this process."""
    spark_config: dict[str, Any] | None = None
    """Settings of the Spark session of Python models."""

    _ALIASES = {"branch": "database", "user": "username", "pass": "password"}

    def __post_init__(self) -> None:
        if (self.path is None) == (self.uri is None):
            raise DbtRuntimeError(
                "an omnigraph profile needs either `path` (a graph that dbt opens itself) or `uri` "
                "(a server); give exactly one of them"
            )
        if self.durability not in (None, "sync", "os"):
            raise DbtRuntimeError(f"durability: {self.durability!r} is not one of sync, os")
        if self.durability and self.path is None:
            raise DbtRuntimeError(
                "`durability` goes with `path`; a server has a setting of that name"
            )
        if self.publish not in ("on_success", "manual", "direct"):
            raise DbtRuntimeError(
                f"publish: {self.publish!r} is not one of on_success, manual, direct"
            )

    @property
    def type(self) -> str:
        return "omnigraph"

    @property
    def unique_field(self) -> str:
        return self.uri or str(self.path)

    def _connection_keys(self) -> tuple[str, ...]:
        return (
            "path",
            "durability",
            "uri",
            "graph",
            "database",
            "schema",
            "username",
            "publish",
            "run_branch",
            "spark_remote",
        )

    def root_certificates(self) -> str | None:
        """The certificates (PEM) that the server's certificate is checked against."""
        if self.tls_root_certs is None:
            return None
        return Path(self.tls_root_certs).read_text(encoding="ascii")

    @classmethod
    def __pre_deserialize__(cls, data: dict[Any, Any]) -> dict[Any, Any]:
        # Templates leave optional answers empty.
        given = {name: value for name, value in data.items() if value != ""}
        return dict(super().__pre_deserialize__(given))
