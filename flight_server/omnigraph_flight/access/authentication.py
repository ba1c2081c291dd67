"""Who is calling: bearer tokens, stored only as SHA-256, and Basic logins that yield one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from omnigraph_flight.protocol.flight_status import Unauthenticated


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may call; `name` becomes the actor of the commits they make."""

    name: str
    token_sha256: str
    """Lower-case hex of the SHA-256 of the token, which is also the password of a Basic login."""
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who made a call, and the login it belongs to if it came with one of its own."""

    name: str
    roles: tuple[str, ...]
    login: str | None = None


def token_sha256(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


class Authentication:
    """Knows the users and the tokens of current logins. The lock protects the logins.

    Without users everybody may call, as `anonymous`.
    """

    def __init__(self, users: Iterable[User] = (), *, login_seconds: float = 12 * 3600.0) -> None:
        self._users = tuple(users)
        self._anonymous = Caller("anonymous", ("admin",))
        self._seconds = login_seconds
        self._lock = threading.Lock()
        self._logins: dict[str, tuple[User, float]] = {}

    @property
    def open_to_all(self) -> bool:
        return not self._users

    def caller(self, headers: Mapping[str, list[str]]) -> Caller:
        """Who sent these headers."""
        if self.open_to_all:
            return self._anonymous
        scheme, value = _authorization(headers)
        if scheme == "bearer":
            return self._by_token(value)
        if scheme == "basic":
            user = self._by_password(value)
            return Caller(user.name, user.roles)
        raise Unauthenticated(
            "this server requires authentication",
            hint="Connect with a user name and token, or send `authorization: Bearer <token>`.",
        )

    def log_in(self, headers: Mapping[str, list[str]]) -> str:
        """A new bearer token for the user whose name and token came as a Basic header."""
        if self.open_to_all:
            return secrets.token_urlsafe(32)
        scheme, value = _authorization(headers)
        if scheme == "bearer":  # some clients shake hands with a token, too
            self._by_token(value)
            return value
        user = self._by_password(value if scheme == "basic" else "")
        token = secrets.token_urlsafe(32)
        now = time.monotonic()
        with self._lock:
            self._logins = {k: v for k, v in self._logins.items() if v[1] > now}
            self._logins[token_sha256(token)] = (user, now + self._seconds)
        return token

    def _by_token(self, token: str) -> Caller:
        digest = token_sha256(token)
        with self._lock:
            login = self._logins.get(digest)
        if login is not None and login[1] > time.monotonic():
            return Caller(login[0].name, login[0].roles, login=digest)
        user = self._user(digest)
        if user is None:
            raise Unauthenticated(
                "this token is unknown or has expired",
                hint="Log in again, or ask for a new token.",
            )
        return Caller(user.name, user.roles)

    def _by_password(self, encoded: str) -> User:
        name, password = _basic(encoded)
        user = self._user(token_sha256(password))
        if user is None or not hmac.compare_digest(user.name.encode(), name.encode()):
            raise Unauthenticated(
                "the user name or the token is wrong", hint="Check both and connect again."
            )
        return user

    def _user(self, digest: str) -> User | None:
        # Every user is compared, so that the time it takes reveals nothing.
        users = [each for each in self._users if hmac.compare_digest(each.token_sha256, digest)]
        return users[-1] if users else None


def _authorization(headers: Mapping[str, list[str]]) -> tuple[str, str]:
    for name, values in headers.items():
        if name.lower() == "authorization" and values:
            scheme, _, value = str(values[0]).partition(" ")
            return scheme.lower(), value.strip()
    return "", ""


def _basic(encoded: str) -> tuple[str, str]:
    """Name and password of a Basic header; some clients leave out base64's padding."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except ValueError:  # of base64 or of UTF-8
        return "", ""
    name, _, password = text.partition(":")
    return name, password
