"""What dbt promises of `utils`, as its own suite for adapters says it."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.utils import (
    test_any_value,
    test_array_append,
    test_array_concat,
    test_array_construct,
    test_bool_or,
    test_cast,
    test_cast_bool_to_text,
    test_concat,
    test_current_timestamp,
    test_date,
    test_date_spine,
    test_date_trunc,
    test_dateadd,
    test_datediff,
    test_equals,
    test_escape_single_quotes,
    test_except,
    test_generate_series,
    test_get_intervals_between,
    test_get_powers_of_two,
    test_hash,
    test_intersect,
    test_last_day,
    test_length,
    test_listagg,
    test_null_compare,
    test_position,
    test_replace,
    test_right,
    test_safe_cast,
    test_source_freshness_custom_info,
    test_split_part,
    test_string_literal,
    test_timestamps,
    test_validate_sql,
)
from dbt.tests.adapter.utils.data_types import (
    test_type_bigint,
    test_type_boolean,
    test_type_float,
    test_type_int,
    test_type_numeric,
    test_type_string,
    test_type_timestamp,
)


class TestTypeBigInt(test_type_bigint.TestTypeBigInt):
    pass


class TestTypeBoolean(test_type_boolean.TestTypeBoolean):
    pass


class TestTypeFloat(test_type_float.TestTypeFloat):
    pass


class TestTypeInt(test_type_int.TestTypeInt):
    pass


class TestTypeNumeric(test_type_numeric.TestTypeNumeric):
    pass


class TestTypeString(test_type_string.TestTypeString):
    pass


class TestTypeTimestamp(test_type_timestamp.TestTypeTimestamp):
    pass


class TestAnyValue(test_any_value.TestAnyValue):
    pass


class TestArrayAppend(test_array_append.TestArrayAppend):
    pass


class TestArrayConcat(test_array_concat.TestArrayConcat):
    pass


class TestArrayConstruct(test_array_construct.TestArrayConstruct):
    pass


class TestBoolOr(test_bool_or.TestBoolOr):
    pass


class TestCast(test_cast.TestCast):
    pass


class TestCastBoolToText(test_cast_bool_to_text.TestCastBoolToText):
    pass


class TestConcat(test_concat.TestConcat):
    pass


class TestCurrentTimestamp(test_current_timestamp.TestCurrentTimestamp):
    pass


class TestCurrentTimestampWithoutZone(test_current_timestamp.BaseCurrentTimestampNaive):
    """Of the naive variant, what both promise: the type is the other one's."""

    test_current_timestamp_type = None


class TestDate(test_date.TestDate):
    pass


class TestDateSpine(test_date_spine.TestDateSpine):
    pass


class TestDateTrunc(test_date_trunc.TestDateTrunc):
    pass


class TestDateAdd(test_dateadd.TestDateAdd):
    pass


class TestDateDiff(test_datediff.TestDateDiff):
    pass


class TestEquals(test_equals.TestEquals):
    pass


class TestEscapeSingleQuotes(test_escape_single_quotes.TestEscapeSingleQuotes):
    pass


class TestExcept(test_except.TestExcept):
    pass


class TestGenerateSeries(test_generate_series.TestGenerateSeries):
    pass


class TestGetIntervalsBetween(test_get_intervals_between.TestGetIntervalsBetween):
    pass


class TestGetPowersOfTwo(test_get_powers_of_two.TestGetPowersOfTwo):
    pass


class TestHash(test_hash.TestHash):
    pass


class TestIntersect(test_intersect.TestIntersect):
    pass


class TestLastDay(test_last_day.TestLastDay):
    pass


class TestLength(test_length.TestLength):
    pass


class TestListagg(test_listagg.TestListagg):
    pass


class TestMixedNullCompare(test_null_compare.TestMixedNullCompare):
    pass


class TestNullCompare(test_null_compare.TestNullCompare):
    pass


class TestPosition(test_position.TestPosition):
    pass


class TestReplace(test_replace.TestReplace):
    pass


class TestRight(test_right.TestRight):
    pass


class TestSafeCast(test_safe_cast.TestSafeCast):
    pass


class TestCalculateFreshnessMethod(test_source_freshness_custom_info.TestCalculateFreshnessMethod):
    pass


class TestSplitPart(test_split_part.TestSplitPart):
    pass


class TestStringLiteral(test_string_literal.TestStringLiteral):
    pass


class TestCurrentTimestamps(test_timestamps.TestCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self) -> dict[str, str]:
        return {
            "current_timestamp": "timestamptz",
            "current_timestamp_in_utc_backcompat": "timestamp",
            "current_timestamp_backcompat": "timestamp",
        }


class TestValidateSqlMethod(test_validate_sql.TestValidateSqlMethod):
    pass
