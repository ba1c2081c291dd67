"""TLS, and certificates that clients must show."""

from __future__ import annotations

from pathlib import Path

import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import Error

from flight.clients import rows
from flight.conftest import Serve
from flight.security.certificates import Authority

ROOTS = DatabaseOptions.TLS_ROOT_CERTS.value
CERT = DatabaseOptions.MTLS_CERT_CHAIN.value
KEY = DatabaseOptions.MTLS_PRIVATE_KEY.value


def test_clients_that_trust_the_certificate_are_served(serve: Serve, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    own = authority.sign("server")
    server = serve(tls_cert=str(own.cert), tls_key=str(own.key))
    assert server.uri.startswith("grpc+tls://")
    roots = {ROOTS: authority.cert.read_text()}
    with dbapi.connect(server.uri, db_kwargs=roots, autocommit=True) as client:
        assert rows(client, "SELECT 1") == [(1,)]
    other = {ROOTS: Authority(tmp_path, "other").cert.read_text()}
    with (
        pytest.raises(Error),
        dbapi.connect(server.uri, db_kwargs=other, autocommit=True) as client,
    ):
        rows(client, "SELECT 1")


def test_clients_without_a_certificate_are_turned_away(serve: Serve, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    own, theirs = authority.sign("server"), authority.sign("client")
    server = serve(tls_cert=str(own.cert), tls_key=str(own.key), tls_client_ca=str(authority.cert))
    roots = {ROOTS: authority.cert.read_text()}
    shown = {CERT: theirs.cert.read_text(), KEY: theirs.key.read_text()}
    with dbapi.connect(server.uri, db_kwargs={**roots, **shown}, autocommit=True) as client:
        assert rows(client, "SELECT 1") == [(1,)]
    stranger = Authority(tmp_path, "stranger").sign("impostor")
    wrong = {CERT: stranger.cert.read_text(), KEY: stranger.key.read_text()}
    for options in (roots, {**roots, **wrong}):
        with (
            pytest.raises(Error),
            dbapi.connect(server.uri, db_kwargs=options, autocommit=True) as client,
        ):
            rows(client, "SELECT 1")
