"""Tokens are known by their SHA-256 alone; a Basic login yields a bearer token of its own."""

from __future__ import annotations

import base64

import pytest

from omnigraph_flight.access.authentication import Authentication, User, token_sha256
from omnigraph_flight.protocol.flight_status import Unauthenticated

ADA = User("ada", token_sha256("ada's token"), ("reader",))
EVE = User("eve", token_sha256("eve's token"))


def bearer(token: str) -> dict[str, list[str]]:
    return {"authorization": [f"Bearer {token}"]}


def basic(name: str, password: str, *, padded: bool = True) -> dict[str, list[str]]:
    text = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": [f"Basic {text if padded else text.rstrip('=')}"]}


def test_a_known_token_says_who_calls() -> None:
    caller = Authentication([ADA, EVE]).caller(bearer("ada's token"))
    assert (caller.name, caller.roles, caller.login) == ("ada", ("reader",), None)


@pytest.mark.parametrize("padded", [True, False], ids=["padded", "unpadded"])
def test_a_login_yields_a_token_of_its_own(padded: bool) -> None:
    known = Authentication([ADA, EVE])
    first, second = (known.log_in(basic("ada", "ada's token", padded=padded)) for _ in range(2))
    one, other = known.caller(bearer(first)), known.caller(bearer(second))
    assert one.name == other.name == "ada"
    assert one.login != other.login, "two logins are two sessions"
    assert first not in repr(vars(known)), "only its hash is kept"


def test_a_login_expires() -> None:
    known = Authentication([ADA], login_seconds=-1)
    with pytest.raises(Unauthenticated, match="expired"):
        known.caller(bearer(known.log_in(basic("ada", "ada's token"))))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("guess"),
        bearer(""),
        basic("ada", "eve's token"),
        basic("ada", ""),
        {"authorization": ["Basic ÿÿÿ"]},
        {"authorization": ["Basic !!!"]},
        {"authorization": ["Negotiate abc"]},
        {"authorization": []},
    ],
)
def test_everybody_else_is_refused(headers: dict[str, list[str]]) -> None:
    known = Authentication([ADA, EVE])
    with pytest.raises(Unauthenticated) as refused:
        known.caller(headers)
    assert refused.value.hint
    with pytest.raises(Unauthenticated):
        known.log_in(headers)


def test_without_users_everybody_may_call() -> None:
    assert Authentication().caller({}).name == "anonymous"
    assert Authentication().log_in({})
