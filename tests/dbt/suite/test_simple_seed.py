"""What dbt promises of `simple_seed`, as its own suite for adapters says it."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds, test_seed, test_seed_type_override
from dbt.tests.fixtures.project import TestProjInfo as Project
from dbt.tests.util import run_dbt

# A view is its text: it outlives the table it reads, and finds the new one.


class TestBasicSeedTests(test_seed.TestBasicSeedTests):
    def test_simple_seed_full_refresh_flag(self, project: Project) -> None:
        self._build_relations_for_test(project)
        refreshed = run_dbt(["seed", "--full-refresh"])
        self._check_relation_end_state(run_result=refreshed, project=project, exists=True)


class TestSeedConfigFullRefreshOn(test_seed.TestSeedConfigFullRefreshOn):
    def test_simple_seed_full_refresh_config(self, project: Project) -> None:
        self._build_relations_for_test(project)
        refreshed = run_dbt(["seed"])
        self._check_relation_end_state(run_result=refreshed, project=project, exists=True)


class TestSeedConfigFullRefreshOff(test_seed.TestSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(test_seed.TestSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(test_seed.TestSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(test_seed.TestSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(test_seed.TestSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(test_seed.TestSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(test_seed.TestSeedParsing):
    pass


class TestSimpleSeedWithBOM(test_seed.TestSimpleSeedWithBOM):
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Project) -> None:
        project.run_sql(seeds.seeds__expected_sql)
        copyfile(
            Path(seeds.__file__).parent / "seed_bom.csv",
            Path(project.project_root) / "seeds" / "seed_bom.csv",
        )


class TestSeedSpecificFormats(test_seed.TestSeedSpecificFormats):
    pass


class TestEmptySeed(test_seed.TestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(test_seed_type_override.TestSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        text = fixtures.properties__schema_yml
        return {"schema.yml": text.replace("timestamp without time zone", "timestamp")}
