"""What dbt promises of `persist_docs`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.persist_docs import test_persist_docs


class TestPersistDocs(test_persist_docs.TestPersistDocs):
    pass


class TestPersistDocsColumnMissing(test_persist_docs.TestPersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(test_persist_docs.TestPersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(
    test_persist_docs.TestPersistDocsQuotedColumnCaseSensitive
):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    test_persist_docs.TestPersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsCommentOnQuotedColumn(test_persist_docs.TestPersistDocsCommentOnQuotedColumn):
    pass
