"""The dbt adapter of OmniGraph, in dbt's own nouns.

Speaks ADBC Flight SQL to a server, or to one that it starts in this process (`environments`). A
run writes to a branch of its own and ends in one atomic publish (`run_branch`).
"""

from dbt.adapters.base import AdapterPlugin

from dbt.adapters.omnigraph.connections import OmniGraphConnectionManager
from dbt.adapters.omnigraph.credentials import OmniGraphCredentials
from dbt.adapters.omnigraph.impl import OmniGraphAdapter
from dbt.include import omnigraph

Plugin = AdapterPlugin(
    adapter=OmniGraphAdapter,
    credentials=OmniGraphCredentials,
    include_path=omnigraph.PACKAGE_PATH,
)

__all__ = ["OmniGraphAdapter", "OmniGraphConnectionManager", "OmniGraphCredentials", "Plugin"]
