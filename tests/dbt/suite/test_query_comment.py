"""What dbt promises of `query_comment`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.query_comment import test_query_comment


class TestQueryComments(test_query_comment.TestQueryComments):
    pass


class TestMacroQueryComments(test_query_comment.TestMacroQueryComments):
    pass


class TestMacroArgsQueryComments(test_query_comment.TestMacroArgsQueryComments):
    pass


class TestMacroInvalidQueryComments(test_query_comment.TestMacroInvalidQueryComments):
    pass


class TestNullQueryComments(test_query_comment.TestNullQueryComments):
    pass


class TestEmptyQueryComments(test_query_comment.TestEmptyQueryComments):
    pass
