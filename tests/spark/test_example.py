"""The example runs from raw data to answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
import omnigraph_spark.submit as submitted
from omnigraph.api.graph import Graph

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop"
COMMAND = "from omnigraph_spark.cli import pipeline; pipeline(prog_name='omnigraph pipeline')"

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


def plain_environment() -> dict[str, str]:
    """That of somebody who has not activated the virtual environment of the command."""
    folders = os.environ["PATH"].split(os.pathsep)
    path = os.pathsep.join(f for f in folders if not f.startswith(sys.prefix))
    others = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "PYTHON"))}
    return {**others, "PATH": path}


def test_the_shop_is_cleaned_and_published_at_once(tmp_path: Path) -> None:
    generate = [sys.executable, str(EXAMPLE / "generate.py"), str(tmp_path / "raw"), "2000"]
    subprocess.run(generate, check=True, capture_output=True, timeout=60)
    shutil.copy(EXAMPLE / "shop.yaml", tmp_path)
    graph = omnigraph.init(tmp_path / "shop.omni", EXAMPLE / "schema.pg")
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "run", str(tmp_path / "shop.yaml"), "--json"]
        + ["--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2"],
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    snapshot = graph.snapshot()
    assert report["graph_commit_id"] == snapshot.commit
    assert snapshot.version == 2
    assert report["dropped"] == {"node:Customer": {"has an address": 1}}
    assert report["quarantined"]["node:Customer"] == {"has a name": 4}
    assert snapshot.count("Customer") == 196
    assert snapshot.count("Product") == 40
    assert snapshot.count("Bought") == report["rows"]["edge:Bought"] > 300
    assert snapshot.plain_table("quarantine.customer").rows == 4
    queries = (EXAMPLE / "shop.gq").read_text("utf-8")
    assert len(graph.query(queries, "best").rows()) == 5
    assert len(graph.query(queries, "also", {"sku": "sku-001"}).rows()) == 5
    _model_with_dbt(graph, tmp_path)
    assert graph.snapshot().version == 3
    segments = {row["segment"]: row["customers"] for row in graph.query(queries, "segments").rows()}
    assert sum(segments.values()) == 196
    assert len(graph.query(queries, "golden").rows()) == 5
    assert graph.snapshot().plain_table("analytics.product_sales").rows == 40
    assert graph.verify(rules=True).ok


def _model_with_dbt(graph: Graph, folder: Path) -> None:
    project = folder / "dbt"
    shutil.copytree(EXAMPLE / "dbt", project, ignore=shutil.ignore_patterns("target", "logs"))
    command = [str(Path(sys.executable).with_name("dbt")), "build", "--project-dir", str(project)]
    done = subprocess.run(
        [*command, "--profiles-dir", str(project)],
        env={**os.environ, "OMNIGRAPH_STORE": graph.uri},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_the_shop_runs_under_spark_submit(tmp_path: Path) -> None:
    generate = [sys.executable, str(EXAMPLE / "generate.py"), str(tmp_path / "raw"), "500"]
    subprocess.run(generate, check=True, capture_output=True, timeout=60)
    shutil.copy(EXAMPLE / "shop.yaml", tmp_path)
    graph = omnigraph.init(tmp_path / "elsewhere.omni", EXAMPLE / "schema.pg")
    submit = Path(sys.executable).with_name("spark-submit")
    done = subprocess.run(
        [str(submit), "--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2"]
        + [submitted.__file__ or "", str(tmp_path / "shop.yaml"), graph.uri],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.strip().splitlines()[-1])
    assert report["graph_commit_id"] == graph.snapshot().commit
    assert graph.snapshot().count("Customer") == report["rows"]["node:Customer"] == 196
