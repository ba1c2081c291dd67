"""A ticket works for its user, until it expires, on every server with the same key, unchanged."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InvalidInput, NotFound
from omnigraph_flight.protocol.flight_status import Forbidden
from omnigraph_flight.protocol.tickets import Ticket, TicketKey

TICKET = Ticket(
    graph="social",
    user="ada",
    language="sql",
    text='SELECT * FROM "Person" WHERE name = $1',
    catalog="main@01JD",
    schema="public",
    dialect="duckdb",
    index=2,
    of=5,
    params=pa.record_batch({"1": ["Bob"]}),
)
KEY = TicketKey(b"secret", seconds=60)


def test_any_replica_with_the_key_reads_it() -> None:
    read = TicketKey(b"secret").open(KEY.seal(TICKET), "ada")
    assert read.slice(2, 5) == read
    assert (read.graph, read.text, read.catalog, read.index, read.of, read.call) == (
        TICKET.graph,
        TICKET.text,
        TICKET.catalog,
        2,
        5,
        TICKET.call,
    )
    assert read.params is not None
    assert read.params.to_pylist() == [{"1": "Bob"}]


def test_it_is_useless_to_another_user() -> None:
    with pytest.raises(Forbidden):
        KEY.open(KEY.seal(TICKET), "eve")


def test_nobody_else_can_read_what_it_carries() -> None:
    rows = pa.record_batch({"salary": ["a secret sum"]})
    sealed = KEY.seal(replace(TICKET, language="rows", params=rows))
    for said in (b"SELECT", b"Person", b"ada", b"salary", b"a secret sum"):
        assert said not in sealed
    assert KEY.seal(TICKET) != KEY.seal(TICKET)
    read = KEY.open(sealed, "ada").params
    assert read is not None
    assert read.to_pydict() == rows.to_pydict()


def test_it_expires() -> None:
    sealed = KEY.seal(TICKET, now=1000.0)
    assert KEY.open(sealed, "ada", now=1059.0).expires == 1060.0
    with pytest.raises(NotFound, match="expired"):
        KEY.open(sealed, "ada", now=1061.0)


def test_one_for_a_kept_result_never_outlives_it() -> None:
    ticket = replace(TICKET, language="kept", files=(0, 3), until=1030.0)
    read = KEY.open(KEY.seal(ticket, now=1000.0), "ada", now=1001.0)
    assert (read.files, read.expires) == ((0, 3), 1030.0)
    with pytest.raises(NotFound, match="expired"):
        KEY.open(KEY.seal(read, now=1031.0), "ada", now=1031.0)


def test_another_key_does_not_make_it() -> None:
    with pytest.raises(InvalidInput, match="not issued by this server"):
        KEY.open(TicketKey(b"guess").seal(TICKET), "ada")


@given(st.integers(0, 2000), st.integers(1, 255))
def test_no_byte_of_it_can_be_changed(place: int, change: int) -> None:
    data = bytearray(KEY.seal(TICKET))
    data[place % len(data)] ^= change
    with pytest.raises(InvalidInput):
        KEY.open(bytes(data), "ada")


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        KEY.open(data, "ada")
