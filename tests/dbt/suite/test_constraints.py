"""What dbt promises of `constraints`, as its own suite for adapters says it."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.constraints import test_constraints

MADE_AT_ONCE = """
create or replace table <model_identifier> ({columns}) as (
    select id, color, date_day from (
        -- depends_on: <foreign_key_model_identifier>
        select 'blue' as color, 1 as id, '2019-01-01' as date_day
    ) as model_subq
)
"""
COLUMN_CONSTRAINTS = MADE_AT_ONCE.format(
    columns="id integer not null primary key check ((id > 0)) check (id >= 1) "
    "references <foreign_key_model_identifier> (id) unique, color text, date_day text"
)
MODEL_CONSTRAINTS = MADE_AT_ONCE.format(
    columns="id integer not null, color text, date_day text, check ((id > 0)), check (id >= 1), "
    "primary key (id), constraint strange_uniqueness_requirement unique (color, date_day), "
    "foreign key (id) references <foreign_key_model_identifier> (id)"
)
QUOTED_CONSTRAINTS = """
create or replace table <model_identifier> (
    id integer not null, "from" text not null, date_day text, check (("from" = 'blue'))
) as (
    select id, "from", date_day from (
        select 'blue' as "from", 1 as id, '2019-01-01' as date_day
    ) as model_subq
)
"""


class OurTypes:
    """The names that our types have in contracts and errors."""

    @pytest.fixture
    def string_type(self) -> str:
        return "text"

    @pytest.fixture
    def int_type(self) -> str:
        return "integer"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        """A value, its type in a contract, its name in an error; JSON is text with us."""
        return [
            ["1", "integer", "integer"],
            ["'1'", "text", "text"],
            ["true", "bool", "boolean"],
            ["'2013-11-03 00:00:00-07'::timestamptz", "timestamptz", "timestamp with time zone"],
            ["'2013-11-03 00:00:00-07'::timestamp", "timestamp", "timestamp"],
            ["ARRAY['a','b','c']", "text[]", "text[]"],
            ["ARRAY[1,2,3]", "bigint[]", "bigint[]"],
            ["'1'::numeric", "numeric", "numeric"],
        ]


class NotNullError:
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["the column 'id' is NOT NULL and has a null", "not_null(id)"]


class TestTableConstraintsColumnsEqual(OurTypes, test_constraints.TestTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(OurTypes, test_constraints.TestViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(
    OurTypes, test_constraints.TestIncrementalConstraintsColumnsEqual
):
    pass


class TestTableConstraintsRuntimeDdlEnforcement(
    test_constraints.TestTableConstraintsRuntimeDdlEnforcement
):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return COLUMN_CONSTRAINTS


class TestTableConstraintsRollback(NotNullError, test_constraints.TestTableConstraintsRollback):
    pass


class TestIncrementalConstraintsRuntimeDdlEnforcement(
    test_constraints.TestIncrementalConstraintsRuntimeDdlEnforcement
):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return COLUMN_CONSTRAINTS


class TestIncrementalConstraintsRollback(
    NotNullError, test_constraints.TestIncrementalConstraintsRollback
):
    pass


class TestTableContractSqlHeader(test_constraints.TestTableContractSqlHeader):
    pass


class TestIncrementalContractSqlHeader(test_constraints.TestIncrementalContractSqlHeader):
    pass


class TestModelConstraintsRuntimeEnforcement(
    test_constraints.TestModelConstraintsRuntimeEnforcement
):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return MODEL_CONSTRAINTS


class TestConstraintQuotedColumn(test_constraints.TestConstraintQuotedColumn):
    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return QUOTED_CONSTRAINTS


class TestIncrementalForeignKeyConstraint(test_constraints.TestIncrementalForeignKeyConstraint):
    pass
