"""Pipelines: sources, transforms, tables of a graph with expectations, checks, one publish.

A pipeline is a value, written in Python or read from YAML; running it changes a branch of its own,
which is merged in one publish if everything holds and dropped otherwise. Imports `writing` and the
root modules below `data_source`.
"""

from omnigraph_spark.pipeline.pipeline_model import (
    Check,
    Expectation,
    Output,
    Pipeline,
    Source,
    Transform,
)
from omnigraph_spark.pipeline.run_pipeline import PipelineFailed, PipelineReport, run

__all__ = [
    "Check",
    "Expectation",
    "Output",
    "Pipeline",
    "PipelineFailed",
    "PipelineReport",
    "Source",
    "Transform",
    "run",
]
