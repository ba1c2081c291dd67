"""The fixtures that every test may use live in tests/support/fixtures.py."""

pytest_plugins = ("support.fixtures",)
