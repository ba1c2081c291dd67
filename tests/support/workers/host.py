"""Does jobs until its input ends: a process costs seconds to start, a job nothing."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback

import omnigraph  # noqa: F401  paid for before the first job
from omnigraph.storage.core import failpoints
from support.workers.reporting import report


def main() -> None:
    original = dict(os.environ)
    for line in sys.stdin:
        job = json.loads(line)
        os.environ.clear()
        os.environ.update(original | job["environment"])
        failpoints._reached.clear()
        module = importlib.import_module(f"support.workers.{job['module']}")
        try:
            module.work(job["asked"])
        except Exception:  # noqa: BLE001  whatever it is, the test must hear of it
            report("broken", error=traceback.format_exc())


if __name__ == "__main__":
    main()
