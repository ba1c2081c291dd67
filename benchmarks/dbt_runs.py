"""A dbt project of 50 models of 10,000 rows each, run by dbt-omnigraph and by dbt-duckdb in turns.

Both run the same SQL, in processes of their own, with the same number of threads, on a project that
is parsed already. Wall time is what a user waits; CPU time (of dbt and everything it starts) says
more on a machine that others use. The overhead of a model is its execution time as dbt reports it,
less the statement that makes the table.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import show
from support.dbt_projects import Project, a_project

LAYERS = 5
DIGITS = "with d(v) as (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
BASE = f"""{DIGITS}
select a.v + 10 * b.v + 100 * c.v + 1000 * e.v as id, a.v as part, b.v * {{n}} as amount,
  'name ' || cast(c.v as varchar) as name
from d a, d b, d c, d e"""
LAYER = """select l.id, l.part, l.amount + r.amount as amount, r.name
from {{{{ ref('{left}') }}}} l join {{{{ ref('{right}') }}}} r on l.id = r.id"""


@dataclass(frozen=True)
class Measured:
    """One run of the project."""

    wall: float
    cpu: float
    overheads: tuple[float, ...]
    """Seconds of each model beyond its statement."""


def models(count: int) -> dict[str, str]:
    """The project: a fifth makes rows, the others join two models of the layer before."""
    width = count // LAYERS
    made = {f"m0_{n}": BASE.format(n=n + 1) for n in range(width)}
    for layer in range(1, LAYERS):
        for n in range(width):
            left, right = f"m{layer - 1}_{n}", f"m{layer - 1}_{(n + 1) % width}"
            made[f"m{layer}_{n}"] = LAYER.format(left=left, right=right)
    return made


def run(project: Project) -> Measured:
    """`dbt run`, in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    # Only what dbt itself logs of a run is read afterwards; both adapters pay for it alike.
    command = ["--log-format-file", "json", "--log-level-file", "debug", "run"]
    log = project.root / "logs" / "dbt.log"
    log.unlink(missing_ok=True)
    place = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "dbt.cli.main", *command, *place],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise SystemExit(ended.stdout + ended.stderr)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Measured(wall, cpu, tuple(_overheads(project, log)))


def _overheads(project: Project, log: Path) -> Iterator[float]:
    statements: dict[str, float] = {}
    running: dict[str, str] = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        name, data = event["info"]["name"], event["data"]
        node = (data.get("node_info") or {}).get("unique_id")
        if name == "SQLQuery":
            running[event["info"]["thread"]] = data["sql"].lower()
        elif name == "SQLQueryStatus" and node:
            sql = running.get(event["info"]["thread"], "")
            if "create" in sql and "table" in sql:
                statements[node] = statements.get(node, 0.0) + data["elapsed"]
    results = json.loads((project.root / "target" / "run_results.json").read_text())["results"]
    for result in results:
        yield result["execution_time"] - statements[result["unique_id"]]


def main() -> None:
    """Run both in turns and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--models", type=int, default=50)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=4)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root, made = Path(folder), models(given.models)
        ours = a_project(root / "ours", made, path=str(root / "g.omni"), threads=given.threads)
        peer = a_project(
            root / "peer", made, type="duckdb", path=str(root / "p.duckdb"), threads=given.threads
        )
        systems = {"dbt-omnigraph": ours, "dbt-duckdb": peer}
        found: dict[str, list[Measured]] = {name: [] for name in systems}
        for project in systems.values():
            run(project)  # parses, and makes what is replaced from then on
        for _ in range(given.rounds):
            for name, project in systems.items():
                found[name].append(run(project))
    _print(found, given)


def _print(found: dict[str, list[Measured]], given: argparse.Namespace) -> None:
    best = {
        name: (min(each.wall for each in runs), min(each.cpu for each in runs))
        for name, runs in found.items()
    }
    overheads = {
        name: statistics.median(seconds for each in runs for seconds in each.overheads)
        for name, runs in found.items()
    }
    lines: list[list[str | int | float | None]] = [
        [name, wall, cpu, overheads[name] * 1000] for name, (wall, cpu) in best.items()
    ]
    (our_wall, our_cpu), (peer_wall, peer_cpu) = best.values()
    lines.append(["ratio", f"{our_wall / peer_wall:.2f}x", f"{our_cpu / peer_cpu:.2f}x", None])
    show(
        f"{given.models} models of 10,000 rows, {given.threads} threads, {os.cpu_count()} cores, "
        f"best of {given.rounds}",
        ["adapter", "wall s", "CPU s", "overhead ms per model, median"],
        lines,
    )


if __name__ == "__main__":
    main()
