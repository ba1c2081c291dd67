"""Creates a graph and reports how it ended; for inits that meet."""

from __future__ import annotations

from typing import Any

import omnigraph
from omnigraph.errors import OmniGraphError
from support.workers.reporting import report, wait_for_go


def work(asked: dict[str, Any]) -> None:
    wait_for_go()
    try:
        omnigraph.init(asked["root"], asked["schema"])
    except OmniGraphError as error:
        report("end", code=error.code, kind=type(error).__name__, error=str(error))
    else:
        report("end", code=None)
