"""What a statement touches, and whether its caller may."""

from __future__ import annotations

from omnigraph_flight.authentication import Caller
from omnigraph_flight.policies import Action, Policies, Resource
from omnigraph_flight.sessions import Settings
from omnigraph_flight.statements import Statement


def require_access(
    policies: Policies, caller: Caller, settings: Settings, statement: Statement
) -> None:
    """Refuse a statement that its caller may not run."""
    branch = settings.catalog.partition("@")[0]
    action: Action = "write" if statement.is_update else "read"
    policies.require(caller, action, Resource(settings.graph, branch))


def require_access_to_text(
    policies: Policies, caller: Caller, settings: Settings, text: str
) -> None:
    """The same for a text of any number of statements, before any of them runs."""
    branch = settings.catalog.partition("@")[0]
    policies.require(caller, "write", Resource(settings.graph, branch))


def require_upload(
    policies: Policies,
    caller: Caller,
    settings: Settings,
    catalog: str | None,
    schema: str | None,
    table: str,
    mode: str,
) -> None:
    """Refuse an upload that its caller may not make."""
    branch = (catalog or settings.catalog).partition("@")[0]
    action: Action = "write" if mode == "append" else "define"
    policies.require(
        caller, action, Resource(settings.graph, branch, schema or settings.schema, table)
    )
