"""Who may do what: Cedar policies over users, roles, graphs, branches and types.

A request asks whether `User::"ada"` may `Action::"write"` on `Type::"social/main/nodes.Person"`.
The user is in its `Role`s; the type is in `Branch::"social/main"`, which is in `Graph::"social"`.
Its attributes `graph`, `branch`, `schema` and `name` let a policy speak of a type on every branch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import cedarpy

from omnigraph.errors import InvalidInput
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.protocol.flight_status import Forbidden

PolicyAction = Literal["connect", "read", "write", "define", "branch"]
"""`define` changes schemas, tables, views and stored queries; `branch` makes, merges and deletes
branches and tags."""

ROLES = """
permit(principal, action == Action::"connect", resource);
permit(principal in Role::"reader", action == Action::"read", resource);
permit(principal in Role::"writer",
       action in [Action::"read", Action::"write", Action::"branch"], resource);
permit(principal in Role::"modeler",
       action in [Action::"read", Action::"write", Action::"branch", Action::"define"], resource);
permit(principal in Role::"admin", action, resource);
"""
"""What holds when no policies are given: four roles, each good for every graph."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A graph, a branch of it, or a type or table on that branch."""

    graph: str
    branch: str | None = None
    schema: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        table = f"{self.schema}.{self.name}" if self.schema else self.name
        return "/".join(part for part in (self.graph, self.branch, table) if part)


class Policies:
    """A set of policies, parsed once; decisions are cached, since they depend on nothing else."""

    def __init__(self, text: str = ROLES) -> None:
        try:
            self._policies = cedarpy.PolicySet.from_str(text)
        except ValueError as error:
            raise InvalidInput(
                f"the policies cannot be read: {error}", hint="Check them with `cedar validate`."
            ) from error
        self._decide = lru_cache(maxsize=4096)(self._decided)

    def require(self, caller: Caller, action: PolicyAction, resource: Resource) -> None:
        """Refuse what no policy permits."""
        if not self._decide(caller.name, caller.roles, action, resource):
            raise Forbidden(
                f"{caller.name} may not {action} {resource}",
                hint="Ask the operator of the server for a role or policy that permits it.",
            )

    def _decided(
        self, user: str, roles: tuple[str, ...], action: PolicyAction, resource: Resource
    ) -> bool:
        chain = _chain(resource)
        request = {
            "principal": _uid("User", user),
            "action": _uid("Action", action),
            "resource": chain[0]["uid"],
            "context": {},
        }
        people = [_entity(_uid("Role", role)) for role in roles]
        person = _entity(_uid("User", user), [_uid("Role", role) for role in roles])
        entities = json.dumps([person, *people, *chain])
        return bool(cedarpy.is_authorized(request, self._policies, entities).allowed)


def _chain(resource: Resource) -> list[dict[str, Any]]:
    """The resource's entity and those that it is in, innermost first."""
    graph = _entity(_uid("Graph", resource.graph), attrs={"graph": resource.graph})
    if resource.branch is None:
        return [graph]
    branch = _entity(
        _uid("Branch", f"{resource.graph}/{resource.branch}"),
        [graph["uid"]],
        {"graph": resource.graph, "branch": resource.branch},
    )
    if resource.name is None:
        return [branch, graph]
    attrs = {**branch["attrs"], "schema": resource.schema or "", "name": resource.name}
    return [_entity(_uid("Type", str(resource)), [branch["uid"]], attrs), branch, graph]


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


def _entity(
    uid: dict[str, str],
    parents: Iterable[dict[str, str]] = (),
    attrs: dict[str, str] | None = None,
) -> dict[str, Any]:
    return {"uid": uid, "parents": list(parents), "attrs": attrs or {}}
