"""Relations: plain tables and views, and the node and edge types of the graph."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import Policy
from dbt.adapters.utils import classproperty
from dbt_common.dataclass_schema import StrEnum

NODES = "nodes"
EDGES = "edges"


class OmniGraphRelationType(StrEnum):
    """What a relation is in the graph."""

    Table = "table"
    View = "view"
    CTE = "cte"
    Ephemeral = "ephemeral"
    External = "external"
    Node = "node"
    Edge = "edge"


@dataclass
class OmniGraphIncludePolicy(Policy):
    """The branch is the connection's, so a relation's name does not carry it."""

    database: bool = False
    schema: bool = True
    identifier: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class OmniGraphRelation(BaseRelation):
    """A table of the branch; `nodes` and `edges` are the schemas of the graph's types."""

    type: OmniGraphRelationType | None = None  # type: ignore[assignment]
    include_policy: Policy = field(default_factory=OmniGraphIncludePolicy)
    require_alias: bool = False
    renameable_relations = frozenset({OmniGraphRelationType.Table, OmniGraphRelationType.View})  # type: ignore[assignment]
    replaceable_relations = frozenset({OmniGraphRelationType.Table, OmniGraphRelationType.View})  # type: ignore[assignment]

    @classproperty
    def get_relation_type(cls) -> builtins.type[OmniGraphRelationType]:  # type: ignore[override]
        return OmniGraphRelationType

    @property
    def is_table(self) -> bool:
        """Node and edge types are tables to everybody who reads them."""
        return self.type in (
            OmniGraphRelationType.Table,
            OmniGraphRelationType.Node,
            OmniGraphRelationType.Edge,
        )

    @property
    def is_graph_type(self) -> bool:
        """Whether the relation is a node or edge type."""
        return self.schema in (NODES, EDGES)
