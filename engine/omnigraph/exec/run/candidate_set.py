"""The entities a variable may be bound to, given the conditions on it alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import Handles
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.graph.bindings import Bindings
from omnigraph.exec.graph.graph_view import Entities, EntitySet
from omnigraph.exec.plan.filter_pushdown import pushed
from omnigraph.query.logical.expression_walk import key_lookup
from omnigraph.query.logical.expressions import Compare, Condition
from omnigraph.query.logical.logical_plan import VariableInfo
from omnigraph.schema.model.catalog import NodeType
from omnigraph.schema.model.entity_ids import ids_of_keys


class Candidates:
    """Finds, or tests, the entities of one variable. Lives for one run."""

    def __init__(
        self, evaluator: Evaluator, name: str, info: VariableInfo, tests: tuple[Condition, ...]
    ) -> None:
        self.evaluator = evaluator
        self.name = name
        self.info = info
        self.tests = tests
        self._mask: Mask | None = None

    def handles(self) -> Handles:
        """Every entity that passes."""
        entities = self.evaluator.view.entities(self.info)
        if not self.tests:
            return entities.all()
        rest = list(self.tests)
        found = self._by_key(entities, rest)
        if found is not None:
            return self._passing(found, rest)
        selected = self._selected(entities)
        return self._passing(entities.all(), self.tests) if selected is None else selected

    def test(self, handles: Handles) -> Mask:
        """Which of some entities pass."""
        entities = self.evaluator.view.entities(self.info)
        if self._mask is None:
            if 4 * len(handles) < entities.rows:
                return self._test_rows(handles, self.tests)
            self._mask = self.mask()
        return self._mask[handles]

    def mask(self) -> Mask:
        """Which entities pass, by handle."""
        if self._mask is None:
            entities = self.evaluator.view.entities(self.info)
            selected = self._selected(entities) if isinstance(entities, Entities) else None
            if selected is None:
                self._mask = entities.by_handle(self._test_rows(entities.all(), self.tests))
            else:
                self._mask = np.zeros(entities.size, np.bool_)
                self._mask[selected] = True
        return self._mask

    def _selected(self, entities: EntitySet) -> Handles | None:
        """Every entity that passes, if the table itself evaluates some of the conditions."""
        condition = pushed(entities.source, self.tests, self.evaluator.constant)
        if condition is None:
            return None
        found = entities.where(condition.sql, condition.columns)
        return None if found is None else self._passing(found, condition.rest)

    def _passing(self, handles: Handles, tests: Sequence[Condition]) -> Handles:
        return handles[self._test_rows(handles, tests)] if tests and len(handles) else handles

    def _test_rows(self, handles: Handles, tests: Sequence[Condition]) -> Mask:
        return self.evaluator.test_all(tests, Bindings({self.name: handles}, len(handles)))

    def _by_key(self, nodes: EntitySet, rest: list[Condition]) -> Handles | None:
        """Nodes found through their key, and `rest` without the condition that gave it."""
        type_ = nodes.source.type
        assert isinstance(type_, NodeType)
        found = key_lookup(rest, type_)
        if found is None:
            return None
        condition, expr = found
        rest.remove(condition)
        value = self.evaluator.constant(expr)
        values = [value] if isinstance(condition, Compare) else value or ()
        return nodes.find(ids_of_keys(type_, [v for v in values if v is not None]))
