"""Spark reaches graphs behind TLS, tokens and S3, from executors too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import omnigraph
import omnigraph_spark
from flight.security.certificates import Authority
from omnigraph.api.graph import Graph
from omnigraph.errors import InvalidInput
from omnigraph_flight.access.authentication import User, token_sha256
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from omnigraph_spark.server_errors import ServerError
from spark.test_round_trips import SCHEMA, as_rows, things
from support.fixtures import unique_uri
from support.object_stores import ObjectStore


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@pytest.fixture
def server(graph: Graph, authority: Authority) -> Iterator[Server]:
    """Encrypted, asks clients for a certificate, and knows a writer and a reader."""
    own = authority.sign("server")
    config = Config(
        graphs={"things": graph.uri},
        port=0,
        optimize_seconds=0,
        tls_cert=str(own.cert),
        tls_key=str(own.key),
        tls_client_ca=str(authority.cert),
        users=(
            User("ada", token_sha256("ada's token"), ("modeler",)),
            User("bob", token_sha256("bob's token"), ("reader",)),
        ),
    )
    with Server(config) as running:
        yield running


@pytest.fixture
def trusted(server: Server, authority: Authority) -> dict[str, str]:
    """What gets a client as far as its token; the roots as text, the others as files."""
    client = authority.sign("client")
    return {
        "uri": server.uri,
        "tls.roots": authority.cert.read_text(),
        "tls.cert": str(client.cert),
        "tls.key": str(client.key),
    }


def read(spark: SparkSession, **options: str) -> DataFrame:
    return spark.read.format("omnigraph").options(node="Thing", **options).load()


def test_tokens_and_certificates_reach_executors(
    spark: SparkSession, trusted: dict[str, str], graph: Graph
) -> None:
    sent, options = things(spark), {**trusted, "token": "ada's token"}
    sent.write.format("omnigraph").options(node="Thing", **options).mode("append").save()
    assert as_rows(read(spark, **options).select(*sent.columns)) == as_rows(sent)
    others = {name: value for name, value in options.items() if name != "uri"}
    with omnigraph_spark.graph_write(spark, options["uri"], options=others) as w:
        w.edge("Has", spark.createDataFrame([("full", "zero")], "src string, dst string"))
    assert graph.snapshot().count("Has") == 1
    assert [commit.actor for commit in graph.commits("main")][:2] == ["ada", "ada"]
    login = {**trusted, "user": "bob", "password": "bob's token"}
    assert read(spark, **login).count() == 3


def test_who_may_not_is_told_so_and_changes_nothing(
    spark: SparkSession, trusted: dict[str, str], graph: Graph, tmp_path: Path
) -> None:
    before = graph.snapshot().commit
    with pytest.raises(Exception, match="(?i)unauthenticated"):
        read(spark, **trusted, token="eve's token")
    strange = Authority(tmp_path, "stranger").cert.read_text()
    with pytest.raises(Exception, match="(?i)certificate"):
        read(spark, **{**trusted, "tls.roots": strange, "token": "ada's token"})
    bob = {name: value for name, value in trusted.items() if name != "uri"}
    with (
        pytest.raises(ServerError, match="bob"),
        omnigraph_spark.graph_write(
            spark, trusted["uri"], options={**bob, "token": "bob's token"}
        ) as w,
    ):
        w.node("Thing", spark.createDataFrame([("new",)], "key string"))
    assert graph.snapshot().commit == before
    with pytest.raises(InvalidInput, match=r"tls\.key cannot be read"):
        omnigraph_spark.graph_write(spark, trusted["uri"], options={"tls.key": "nowhere.pem"})


def test_a_graph_on_s3_is_written_and_read_by_executors(
    spark: SparkSession, moto_store: ObjectStore
) -> None:
    uri, found = unique_uri(), moto_store.storage_options()
    graph = omnigraph.init(uri, SCHEMA, storage_options=found)
    storage = {f"storage.{name}": value for name, value in found.items()}
    sent = things(spark)
    target = {"uri": uri, "node": "Thing", **storage}
    sent.write.format("omnigraph").options(**target).mode("append").save()
    assert as_rows(read(spark, uri=uri, **storage).select(*sent.columns)) == as_rows(sent)
    edges = spark.createDataFrame([("full", "zero", 1)], "src string, dst string, n int")
    with omnigraph_spark.graph_write(spark, uri, options=storage, validation="spark") as w:
        w.edge("Has", edges)
        w.table("raw.edges", edges, "overwrite")
    assert graph.snapshot().version == 3
    assert graph.snapshot().count("Has") == 1
    text = "query q() { match { $a: Thing  $a has $b } return { $b.key as k } }"
    answer = omnigraph_spark.query(spark, uri, text, options=storage)
    assert as_rows(answer) == [("zero",)]
    assert graph.verify(rules=True).ok
