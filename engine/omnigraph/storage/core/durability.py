"""What an acknowledged commit survives on local disk; object stores promise it themselves."""

from __future__ import annotations

import os
from enum import StrEnum

from omnigraph.errors import InvalidInput

VARIABLE = "OMNIGRAPH_DURABILITY"


class Durability(StrEnum):
    """How far a commit on local disk has got when it is acknowledged."""

    SYNC = "sync"
    """It is on the disk: it survives a power cut."""
    OS = "os"
    """The operating system has it: it survives the end of the process, and a power cut may take it
    and leave a graph that cannot be opened. For bulk work that can be started over."""


def resolve_durability(given: str | None = None) -> Durability:
    """What a caller asks for, else the environment, else `sync`."""
    asked = given if given is not None else os.environ.get(VARIABLE) or Durability.SYNC
    try:
        return Durability(asked)
    except ValueError as error:
        raise InvalidInput(
            f"there is no durability {asked!r}",
            hint=f"Use {' or '.join(Durability)}, as an argument or in {VARIABLE}.",
            details={"durability": asked},
        ) from error
