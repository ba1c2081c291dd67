"""`--durability` says what commits survive, and so do the settings of other programs."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
from dbt_common.exceptions import DbtRuntimeError

import omnigraph
from dbt.adapters.omnigraph import OmniGraphCredentials
from dbt.adapters.omnigraph.environments import environment_for
from engine.cli.conftest import Cli
from omnigraph.errors import InvalidInput
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_flight.config import Config, read_config
from omnigraph_spark.graph_location import location_of


def is_synced(graph: omnigraph.Graph) -> bool:
    return graph._store.tables.sync.active


def test_no_command_syncs_where_the_system_is_trusted(bare: Cli) -> None:
    with mock.patch.object(os, "fsync", side_effect=AssertionError("a sync")):
        trusting = ("--durability", "os")
        bare.ok(*trusting, "init", "social.pg", "social.omni")
        bare.ok(*trusting, "load", "people.ndjson", "--store", "social.omni")
        bare.ok(*trusting, "backup", "social.omni", "copy")
        bare.ok(*trusting, "restore", "copy", "restored")
        bare.ok(*trusting, "repair", "restored", "--from", "copy")
    with mock.patch.object(os, "fsync") as synced:
        bare.ok("branch", "create", "b", "--store", "social.omni")
    assert synced.called


def test_a_wrong_value_is_refused(bare: Cli) -> None:
    assert bare("--durability", "never", "init", "social.pg", "social.omni").code == 2
    assert not Path("social.omni").exists()


def test_the_configuration_of_a_server(empty: Cli) -> None:
    Path("server.toml").write_text('durability = "os"\n[graphs]\nsocial = "social.omni"\n')
    config = read_config("server.toml").checked()
    graphs = Graphs(config.graphs, durability=config.durability)
    assert not is_synced(graphs.graph("social"))
    assert is_synced(Graphs(config.graphs).graph("social"))
    with pytest.raises(InvalidInput, match="durability 'never'"):
        Config(graphs=config.graphs, durability="never").checked()


def test_the_options_of_spark(empty: Cli) -> None:
    uri = str(empty.store)
    assert not is_synced(location_of({"uri": uri, "durability": "os"}).graph())
    assert is_synced(location_of({"uri": uri}).graph())
    with pytest.raises(InvalidInput, match="durability 'never'"):
        location_of({"uri": uri, "durability": "never"}).graph()
    with pytest.raises(InvalidInput, match="storage URI"):
        location_of({"uri": "grpc://localhost:1", "durability": "os"})


def test_the_profile_of_dbt(bare: Cli) -> None:
    embedded = environment_for(OmniGraphCredentials(path="dbt.omni", durability="os"))
    with mock.patch.object(os, "fsync", side_effect=AssertionError("a sync")):
        try:
            embedded.address()
        finally:
            embedded.close()
    assert Path("dbt.omni").is_dir()
    with pytest.raises(DbtRuntimeError, match="durability"):
        OmniGraphCredentials(path="dbt.omni", durability="never")
    with pytest.raises(DbtRuntimeError, match="durability"):
        OmniGraphCredentials(uri="grpc://a:1", durability="os")
