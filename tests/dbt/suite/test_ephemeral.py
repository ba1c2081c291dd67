"""What dbt promises of `ephemeral`, as its own suite for adapters says it."""

from __future__ import annotations

import re
from pathlib import Path

from dbt.tests.adapter.ephemeral import test_ephemeral
from dbt.tests.fixtures.project import TestProjInfo as Project
from dbt.tests.util import check_relations_equal, run_dbt


def compiled(model: str) -> str:
    """What dbt ran, without white space and without the digits of the schema's name."""
    text = Path("target/run/test/models", f"{model}.sql").read_text()
    return "".join(re.sub(r"\d+", "", text).split())


def squeezed(sql: str) -> str:
    return "".join(sql.split())


class TestEphemeralMulti(test_ephemeral.TestEphemeralMulti):
    def test_ephemeral_multi(self, project: Project) -> None:
        """The suite's own test names the database, which our relations do not carry."""
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        check_relations_equal(project.adapter, ["seed", "dependent"])
        check_relations_equal(project.adapter, ["seed", "double_dependent"])
        check_relations_equal(project.adapter, ["seed", "super_dependent"])
        assert compiled("double_dependent") == squeezed("""
            create or replace view "test_test_ephemeral"."double_dependent" as (
            with __dbt__cte__base as (select * from test_test_ephemeral.seed),
            __dbt__cte__base_copy as (select * from __dbt__cte__base)
            -- base_copy just pulls from base. Make sure the listed
            -- graph of CTEs all share the same dbt_cte__base cte
            select * from __dbt__cte__base where gender = 'Male'
            union all
            select * from __dbt__cte__base_copy where gender = 'Female')
        """)


class TestEphemeralNested(test_ephemeral.TestEphemeralNested):
    def test_ephemeral_nested(self, project: Project) -> None:
        """The suite's own test names the database, which our relations do not carry."""
        assert len(run_dbt(["run"])) == 2
        assert compiled("root_view") == squeezed("""
            create or replace view "test_test_ephemeral"."root_view" as (
            with __dbt__cte__ephemeral_level_two as (
            select * from "test_test_ephemeral"."source_table"),
            __dbt__cte__ephemeral as (select * from __dbt__cte__ephemeral_level_two)
            select * from __dbt__cte__ephemeral)
        """)


class TestEphemeralErrorHandling(test_ephemeral.TestEphemeralErrorHandling):
    pass
