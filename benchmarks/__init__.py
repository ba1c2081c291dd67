"""Measurements: what a small write costs (`cost`), how fast much data goes in (`load`), and how
fast queries are answered in `.gq` (`query`) and in SQL (`sql`).

They use the stores and the counting proxy of the tests.
"""

import sys
from pathlib import Path

_TESTS = str(Path(__file__).resolve().parents[1] / "tests")
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)
