"""Who may do what: Cedar policies over users, roles, graphs, branches and types.

A request asks whether `User::"ada"` may `Action::"write"` on `Type::"social/main/nodes.Person"`.
The user is in its `Role`s; the type is in `Branch::"social/main"`, which is in `Graph::"social"`.
Its attributes `graph`, `branch`, `schema` and `name` let a policy speak of a type on every branch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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
        entities = _resource_entities(resource)
        request = {
            "principal": _uid("User", user),
            "action": _uid("Action", action),
            "resource": entities[-1]["uid"],
            "context": {},
        }
        role_entities = [_entity("Role", role) for role in roles]
        entities += [*role_entities, _entity("User", user, role_entities)]
        allowed = cedarpy.is_authorized(request, self._policies, json.dumps(entities)).allowed
        return bool(allowed)


def _resource_entities(resource: Resource) -> list[dict[str, Any]]:
    """The entities of a resource and of those that it is in, outermost first."""
    attributes = {"graph": resource.graph}
    entities = [_entity("Graph", resource.graph, attributes=attributes)]
    if resource.branch is not None:
        attributes = {**attributes, "branch": resource.branch}
        name = f"{resource.graph}/{resource.branch}"
        entities.append(_entity("Branch", name, entities[-1:], attributes))
        if resource.name is not None:
            attributes = {**attributes, "schema": resource.schema or "", "name": resource.name}
            entities.append(_entity("Type", str(resource), entities[-1:], attributes))
    return entities


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


def _entity(
    kind: str,
    name: str,
    parents: Sequence[dict[str, Any]] = (),
    attributes: dict[str, str] | None = None,
) -> dict[str, Any]:
    uids = [parent["uid"] for parent in parents]
    return {"uid": _uid(kind, name), "parents": uids, "attrs": attributes or {}}
