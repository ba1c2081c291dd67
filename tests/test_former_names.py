"""Names that documents or `__all__` once gave out can still be imported."""

from __future__ import annotations

from importlib import import_module

import pytest

FORMER = {
    "omnigraph.bulk.Bulk": "omnigraph.api.bulk_jobs.BulkMethods",
    "omnigraph.bulk.Survey": "omnigraph.bulk.ConstraintChecker",
    "omnigraph.bulk.Texts": "omnigraph.bulk.KeyColumn",
    "omnigraph.bulk.read_texts": "omnigraph.bulk.read_keys",
    "omnigraph.schema.Check": "omnigraph.schema.PatternCheck",
    "omnigraph.storage.slices.read_slice": "omnigraph.bulk.read_slice",
    "omnigraph_flight.config.Limits": "omnigraph_flight.access.admission.ServerLimits",
    "omnigraph_flight.running.Server": "omnigraph_flight.Server",
}


def named(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize("former", FORMER)
def test_a_former_name_means_what_it_did(former: str) -> None:
    assert named(former) is named(FORMER[former])
