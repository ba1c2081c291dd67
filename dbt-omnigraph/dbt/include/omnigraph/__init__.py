"""The macros that dbt reads: an include project of its own."""

import os

PACKAGE_PATH = os.path.dirname(__file__)
