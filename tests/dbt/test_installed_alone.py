"""dbt-omnigraph asks for dbt-adapters and ADBC, and for nothing of ours but in its extras."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

PACKAGE = Path(__file__).parents[2] / "dbt-omnigraph"
LOADED = (
    "import sys, dbt.adapters.omnigraph; "
    "print([m for m in sys.modules if m.split('.')[0] in "
    "('omnigraph', 'omnigraph_sql', 'omnigraph_flight', 'omnigraph_spark', 'lance', 'pyspark')])"
)


def test_what_is_ours_is_needed_by_extras_only() -> None:
    needed = [line for line in requires("dbt-omnigraph") or () if "extra ==" not in line]
    assert not [line for line in needed if line.startswith(("omnigraph", "pyspark", "dbt-core"))]
    assert any(line.startswith("dbt-adapters") for line in needed)
    assert any(line.startswith("adbc-driver-flightsql") for line in needed)


def test_importing_the_adapter_imports_nothing_of_ours() -> None:
    assert _said(sys.executable, LOADED) == "[]"


@pytest.mark.dbt
@pytest.mark.timeout(900)
def test_the_adapter_and_its_template_work_in_an_environment_without_omnigraph(
    tmp_path: Path,
) -> None:
    venv.create(tmp_path / "alone", with_pip=True)
    python = str(tmp_path / "alone" / "bin" / "python")
    constraints = str(PACKAGE.parent / "constraints.txt")
    install = [python, "-m", "pip", "install", "--quiet", "-c", constraints]
    installed = subprocess.run(
        [*install, str(PACKAGE)], capture_output=True, text=True, check=False
    )
    assert installed.returncode == 0, installed.stderr
    assert _said(python, LOADED) == "[]"
    missing = "import importlib.util as u; print(u.find_spec('omnigraph'), u.find_spec('dbt.cli'))"
    assert _said(python, missing) == "None None"
    told = (
        "from dbt.adapters.omnigraph import OmniGraphCredentials as C\n"
        "from dbt.adapters.omnigraph.environments import environment_for\n"
        "try: environment_for(C(path='g.omni')).address()\n"
        "except Exception as error: print(error)"
    )
    assert "pip install 'dbt-omnigraph[embedded]'" in _said(python, told)

    subprocess.run([*install, "dbt-core"], check=True, capture_output=True)
    asked = subprocess.run(
        [str(Path(python).with_name("dbt")), "init", "shop"],
        cwd=tmp_path,
        env={**os.environ, "DBT_PROFILES_DIR": str(tmp_path), "DO_NOT_TRACK": "1"},
        input="1\n1\ngraph.omni\nmain\nanalytics\n4\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stdout + asked.stderr
    profile = yaml.safe_load((tmp_path / "profiles.yml").read_text())["shop"]
    assert profile["outputs"][profile["target"]] == {
        "type": "omnigraph",
        "path": "graph.omni",
        "branch": "main",
        "schema": "analytics",
        "threads": 4,
    }


def _said(python: str, code: str) -> str:
    return subprocess.run(
        [python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
