"""What dbt promises of `constraints`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.constraints import test_constraints


class TestTableConstraintsColumnsEqual(test_constraints.TestTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(test_constraints.TestViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(
    test_constraints.TestIncrementalConstraintsColumnsEqual
):
    pass


class TestTableConstraintsRuntimeDdlEnforcement(
    test_constraints.TestTableConstraintsRuntimeDdlEnforcement
):
    pass


class TestTableConstraintsRollback(test_constraints.TestTableConstraintsRollback):
    pass


class TestIncrementalConstraintsRuntimeDdlEnforcement(
    test_constraints.TestIncrementalConstraintsRuntimeDdlEnforcement
):
    pass


class TestIncrementalConstraintsRollback(test_constraints.TestIncrementalConstraintsRollback):
    pass


class TestTableContractSqlHeader(test_constraints.TestTableContractSqlHeader):
    pass


class TestIncrementalContractSqlHeader(test_constraints.TestIncrementalContractSqlHeader):
    pass


class TestModelConstraintsRuntimeEnforcement(
    test_constraints.TestModelConstraintsRuntimeEnforcement
):
    pass


class TestConstraintQuotedColumn(test_constraints.TestConstraintQuotedColumn):
    pass


class TestIncrementalForeignKeyConstraint(test_constraints.TestIncrementalForeignKeyConstraint):
    pass
