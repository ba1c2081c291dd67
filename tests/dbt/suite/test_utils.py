"""What dbt promises of `utils`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.utils.data_types import test_type_bigint
from dbt.tests.adapter.utils.data_types import test_type_boolean
from dbt.tests.adapter.utils.data_types import test_type_float
from dbt.tests.adapter.utils.data_types import test_type_int
from dbt.tests.adapter.utils.data_types import test_type_numeric
from dbt.tests.adapter.utils.data_types import test_type_string
from dbt.tests.adapter.utils.data_types import test_type_timestamp
from dbt.tests.adapter.utils import test_any_value
from dbt.tests.adapter.utils import test_array_append
from dbt.tests.adapter.utils import test_array_concat
from dbt.tests.adapter.utils import test_array_construct
from dbt.tests.adapter.utils import test_bool_or
from dbt.tests.adapter.utils import test_cast
from dbt.tests.adapter.utils import test_cast_bool_to_text
from dbt.tests.adapter.utils import test_concat
from dbt.tests.adapter.utils import test_current_timestamp
from dbt.tests.adapter.utils import test_date
from dbt.tests.adapter.utils import test_date_spine
from dbt.tests.adapter.utils import test_date_trunc
from dbt.tests.adapter.utils import test_dateadd
from dbt.tests.adapter.utils import test_datediff
from dbt.tests.adapter.utils import test_equals
from dbt.tests.adapter.utils import test_escape_single_quotes
from dbt.tests.adapter.utils import test_except
from dbt.tests.adapter.utils import test_generate_series
from dbt.tests.adapter.utils import test_get_intervals_between
from dbt.tests.adapter.utils import test_get_powers_of_two
from dbt.tests.adapter.utils import test_hash
from dbt.tests.adapter.utils import test_intersect
from dbt.tests.adapter.utils import test_last_day
from dbt.tests.adapter.utils import test_length
from dbt.tests.adapter.utils import test_listagg
from dbt.tests.adapter.utils import test_null_compare
from dbt.tests.adapter.utils import test_position
from dbt.tests.adapter.utils import test_replace
from dbt.tests.adapter.utils import test_right
from dbt.tests.adapter.utils import test_safe_cast
from dbt.tests.adapter.utils import test_source_freshness_custom_info
from dbt.tests.adapter.utils import test_split_part
from dbt.tests.adapter.utils import test_string_literal
from dbt.tests.adapter.utils import test_timestamps
from dbt.tests.adapter.utils import test_validate_sql


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
    pass


class TestValidateSqlMethod(test_validate_sql.TestValidateSqlMethod):
    pass

