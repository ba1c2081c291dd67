"""A server that others can reach has authentication and TLS, unless it is told otherwise."""

from __future__ import annotations

import pytest

from omnigraph.errors import InvalidInput
from omnigraph_flight.access.authentication import User, token_sha256
from omnigraph_flight.config import Config, is_loopback

ADA = User("ada", token_sha256("token"))
TLS = {"tls_cert": "cert.pem", "tls_key": "key.pem"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.1"])
def test_this_machine_alone_needs_nothing(host: str) -> None:
    assert is_loopback(host)
    Config({"g": "g"}, host=host).checked()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "graphs.example.org", ""])
@pytest.mark.parametrize("given", [{}, {"users": (ADA,)}, TLS], ids=["nothing", "users", "TLS"])
def test_a_public_address_needs_both(host: str, given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="reachable from other machines") as refused:
        Config({"g": "g"}, host=host, **given).checked()  # type: ignore[arg-type]
    assert "--insecure" in str(refused.value)


def test_both_or_a_word_are_enough() -> None:
    Config({"g": "g"}, host="0.0.0.0", users=(ADA,), tls_cert="c", tls_key="k").checked()
    Config({"g": "g"}, host="0.0.0.0", insecure=True).checked()


def test_half_of_a_certificate_is_refused() -> None:
    with pytest.raises(InvalidInput, match="certificate and a key"):
        Config({"g": "g"}, tls_cert="cert.pem").checked()
    with pytest.raises(InvalidInput, match="need TLS"):
        Config({"g": "g"}, tls_client_ca="ca.pem").checked()
