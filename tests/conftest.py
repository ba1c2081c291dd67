"""The fixtures that every test may use live in tests/support/fixtures.py.

Properties are checked on the same examples every time, so that a red run can be repeated; the
profile `soak` looks for new ones.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ("support.fixtures", "support.patches")

# Speed is asserted where it is promised, not by deadlines that a busy machine breaks.
settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("OMNIGRAPH_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--dbt-publish",
        default="direct",
        choices=["direct", "on_success"],
        help="dbt's suite: write to the target, or to a branch that a success publishes",
    )
