"""Roles by default, Cedar policies over graph, branch, type and action when given."""

from __future__ import annotations

import pytest

from omnigraph.errors import InvalidInput
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.policies import Policies, PolicyAction, Resource
from omnigraph_flight.protocol.flight_status import Forbidden

PERSON = Resource("social", "main", "nodes", "Person")


def may(
    policies: Policies, caller: Caller, action: PolicyAction, resource: Resource = PERSON
) -> bool:
    try:
        policies.require(caller, action, resource)
    except Forbidden as refused:
        assert caller.name in refused.message
        return False
    return True


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("reader", {"connect", "read"}),
        ("writer", {"connect", "read", "write", "branch"}),
        ("modeler", {"connect", "read", "write", "branch", "define"}),
        ("admin", {"connect", "read", "write", "branch", "define"}),
        ("nobody", {"connect"}),
    ],
)
def test_roles(role: str, allowed: set[str]) -> None:
    caller = Caller("ada", (role,))
    actions: list[PolicyAction] = ["connect", "read", "write", "branch", "define"]
    assert {action for action in actions if may(Policies(), caller, action)} == allowed


def test_a_policy_speaks_of_a_graph_a_branch_a_type_or_an_attribute() -> None:
    policies = Policies("""
        permit(principal == User::"ada", action == Action::"read", resource in Graph::"social");
        permit(principal in Role::"dbt", action, resource in Branch::"social/dbt/run-7");
        permit(principal == User::"bob", action == Action::"write",
               resource == Type::"social/main/nodes.Club");
        forbid(principal, action, resource) when { resource has name && resource.name == "Salary" };
    """)
    ada, bob, dbt = Caller("ada", ()), Caller("bob", ()), Caller("dbt", ("dbt",))
    assert may(policies, ada, "read")
    assert not may(policies, ada, "write")
    assert not may(policies, ada, "read", Resource("shop", "main", "nodes", "Person"))
    assert may(policies, dbt, "define", Resource("social", "dbt/run-7", "public", "model"))
    assert not may(policies, dbt, "read")
    assert may(policies, bob, "write", Resource("social", "main", "nodes", "Club"))
    assert not may(policies, bob, "write")
    assert not may(policies, ada, "read", Resource("social", "main", "nodes", "Salary"))
    assert not may(policies, ada, "read", Resource("social", "draft", "nodes", "Salary"))


def test_names_cannot_break_out_of_a_policy() -> None:
    policies = Policies('permit(principal == User::"ada", action, resource);')
    assert not may(policies, Caller('eve" || true || "', ()), "read")
    assert may(policies, Caller("ada", ()), "read", Resource("so\ncial", 'ma"in', "n\\", "🦕"))


def test_policies_that_cannot_be_read_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="policies cannot be read"):
        Policies("permit(")
