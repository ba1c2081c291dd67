"""What dbt promises of `simple_seed`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.simple_seed import test_seed, test_seed_type_override


class TestBasicSeedTests(test_seed.TestBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(test_seed.TestSeedConfigFullRefreshOn):
    pass


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
    pass


class TestSeedSpecificFormats(test_seed.TestSeedSpecificFormats):
    pass


class TestEmptySeed(test_seed.TestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(test_seed_type_override.TestSimpleSeedColumnOverride):
    pass
