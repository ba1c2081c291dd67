"""Rows per second and peak memory of bulk loads: `python -m benchmarks.load [--scale 0.1]`.

A million nodes and five million edges with three properties each. OmniGraph validates everything
and publishes one commit; Lance and Delta Lake only write the same Parquet, one table after the
other. Every load runs in a process of its own; rounds are interleaved, medians are shown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import benchmarks  # noqa: F401
from benchmarks.table import Cell, ratio, show
from cost.bulk import EDGES, LOADS, NODES, Loaded, load_apart, write_inputs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    expected = round(NODES * options.scale) + round(EDGES * options.scale)
    runs: dict[str, list[Loaded]] = {name: [] for name in LOADS}
    with tempfile.TemporaryDirectory(prefix="bench-load-") as name:
        folder = Path(name)
        write_inputs(folder / "inputs", options.scale)
        for _ in range(options.rounds):
            for system in LOADS:
                target = folder / "target"
                loaded = load_apart(system, target, folder / "inputs")
                if loaded.rows != expected:
                    raise AssertionError(f"{system} has {loaded.rows} rows, not {expected}")
                runs[system].append(loaded)
                shutil.rmtree(target)
    seconds = {system: statistics.median(r.seconds for r in runs[system]) for system in LOADS}
    spent = {
        system: statistics.median(r.processor_seconds for r in runs[system]) for system in LOADS
    }
    ours = seconds[LOADS[0]], spent[LOADS[0]]
    table: list[list[Cell]] = [
        [
            system,
            seconds[system],
            expected / seconds[system],
            max(loaded.peak_bytes for loaded in runs[system]) / 1e6,
            ratio(seconds[system], ours[0]),
            spent[system],
            ratio(spent[system], ours[1]),
        ]
        for system in LOADS
    ]
    show(
        f"Load of {expected:,} rows, median of {options.rounds}",
        ["system", "seconds", "rows/s", "peak MB", "time ratio", "processor s", "ratio"],
        table,
    )


if __name__ == "__main__":
    main()
