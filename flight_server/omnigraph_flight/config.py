"""How a server is configured: a TOML file, over which environment and flags prevail."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from omnigraph.errors import InvalidInput, NotFound
from omnigraph_flight.access.admission import ServerLimits
from omnigraph_flight.access.admission import ServerLimits as Limits  # noqa: F401 - a former name
from omnigraph_flight.access.authentication import User
from omnigraph_flight.access.policies import ROLES

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Config:
    """The configuration of a server."""

    graphs: Mapping[str, str]
    host: str = "127.0.0.1"
    port: int = 32010
    """0 takes any free one."""
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    """With it, clients must present a certificate that it has signed."""
    insecure: bool = False
    """Whether to listen on a public address without authentication or TLS."""
    users: tuple[User, ...] = ()
    policies: str = ROLES
    """Cedar policies, as text."""
    ticket_key: str | None = None
    """Replicas that share it serve each other's tickets."""
    ticket_seconds: float = 3600.0
    session_seconds: float = 1800.0
    """How long a session may be idle; its open transactions end with it."""
    metrics_port: int | None = None
    """Where /metrics and /health are served over HTTP; 0 takes any free port."""
    optimize_seconds: float = 600.0
    """How often tables are compacted; 0 is never."""
    collect_seconds: float = 24 * 3600.0
    """How often files that no commit needs are deleted; 0 is never."""
    durability: str | None = None
    """What commits on local disk survive: `sync` a power cut, `os` the end of the process."""
    log: str = "text"
    """`text` or `json`."""
    limits: ServerLimits = field(default_factory=ServerLimits)

    def checked(self) -> Config:
        """The same, unless it is contradictory or unsafe."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InvalidInput(
                "TLS needs a certificate and a key", hint="Give --tls-cert and --tls-key."
            )
        if self.tls_client_ca and not self.tls_cert:
            raise InvalidInput(
                "client certificates need TLS", hint="Give --tls-cert and --tls-key, too."
            )
        roles: dict[str, tuple[str, ...]] = {}
        for user in self.users:
            if roles.setdefault(user.name, user.roles) != user.roles:
                raise InvalidInput(
                    f"the user {user.name} has different roles with different tokens",
                    hint="Give both tokens the same roles, or rename one of the users.",
                )
        if self.durability not in (None, "sync", "os"):
            raise InvalidInput(
                f"there is no durability {self.durability!r}", hint="Use sync or os."
            )
        if self.log not in ("text", "json"):
            raise InvalidInput(f"there is no log format {self.log!r}", hint="Use text or json.")
        missing = [
            what
            for what, there in (("TLS", self.tls_cert), ("authentication", self.users))
            if not there
        ]
        if missing and not self.insecure and not is_loopback(self.host):
            raise InvalidInput(
                f"{self.host} is reachable from other machines, and there is "
                f"no {' and no '.join(missing)}",
                hint="Configure users and --tls-cert/--tls-key, listen on 127.0.0.1, "
                "or pass --insecure.",
            )
        return self


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_config(path: str | Path) -> Config:
    """The configuration in a TOML file. File names in it are relative to it."""
    if not Path(path).exists():
        raise NotFound(
            f"there is no configuration file {str(path)!r}", hint="Give the path of a TOML file."
        )
    try:
        return _config(tomllib.loads(_text_of(path)), Path(path).parent)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"cannot read {str(path)!r}: {error}") from error


def read_file(path: str | Path) -> bytes:
    """The contents of a file that the configuration names."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {str(path)!r}: {error}") from error


def _text_of(path: str | Path) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read {str(path)!r}: {error}") from error


def _config(given: dict[str, Any], folder: Path) -> Config:
    values = dict(given)
    values["graphs"] = {str(k): str(v) for k, v in values.pop("graphs", {}).items()}
    values["users"] = tuple(_user(each) for each in values.pop("users", ()))
    values["limits"] = _known(ServerLimits, values.pop("limits", {}), "limits.")
    if "policies" in values:
        values["policies"] = _text_of(folder / str(values["policies"]))
    for name in ("tls_cert", "tls_key", "tls_client_ca"):
        if name in values:
            values[name] = str(folder / str(values[name]))
    config: Config = _known(Config, values, "")
    return config


def _user(given: Mapping[str, Any]) -> User:
    user: User = _known(User, {**given, "roles": tuple(given.get("roles", ()))}, "users.")
    if not _SHA256.fullmatch(user.token_sha256):
        raise InvalidInput(
            f"token_sha256 of {user.name!r} is not a SHA-256 in lower-case hex",
            hint="Create one with: printf %s TOKEN | sha256sum",
        )
    return user


def _known(kind: type[Any], values: Mapping[str, Any], prefix: str) -> Any:  # noqa: ANN401
    types = {each.name: each for each in fields(kind)}
    for name in values:
        if name not in types:
            raise InvalidInput(
                f"there is no setting {prefix}{name}", hint=f"There are {', '.join(types)}."
            )
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidInput(f"the configuration is incomplete: {error}") from error


def with_flags(config: Config, **flags: Any) -> Config:  # noqa: ANN401
    """The configuration with what was given on the command line; some of it is a limit."""
    given = {name: value for name, value in flags.items() if value is not None}
    limiting = {each.name for each in fields(ServerLimits)} & given.keys()
    limits = replace(config.limits, **{name: given.pop(name) for name in limiting})
    return replace(config, limits=limits, **given)
