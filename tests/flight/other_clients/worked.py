"""What a client of Python says about itself: a list of features, as JSON on its standard output."""

import json
import sys
from collections.abc import Callable

Feature = Callable[[], bool]


def tell(features: dict[str, Feature]) -> None:
    """Try every feature, in order; one that raises did not work, and its error goes to stderr."""
    worked = []
    for name, works in features.items():
        try:
            if works():
                worked.append(name)
        except Exception as error:  # noqa: BLE001 - told to whoever looks
            sys.stderr.write(f"{name}: {type(error).__name__}: {error}\n")
    sys.stdout.write(json.dumps(worked))


def uri() -> str:
    """The server that was given on the command line."""
    return f"grpc://{sys.argv[1]}"
