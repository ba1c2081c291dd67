"""Problems at a place of a schema text, and the three classes of errors that point at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.common.lexical import SourceProblem
from omnigraph.errors import CatalogError, ParseError, SchemaIdentityError
from omnigraph.schema.syntax.tree import SchemaTree


class CatalogProblem(SourceProblem):
    """Declarations contradict each other."""


class IdentityProblem(SourceProblem):
    """A rename hint cannot be matched to the accepted schema."""


@contextmanager
def pointing_into(tree: SchemaTree) -> Iterator[None]:
    """Raise a problem of the block as the error of its class, which shows the place in the text."""
    try:
        yield
    except SourceProblem as problem:
        error = ParseError(problem.problem, source=tree.source, span=problem.span, file=tree.file)
        if isinstance(problem, CatalogProblem):
            raise CatalogError(error.message, details=error.details) from None
        if isinstance(problem, IdentityProblem):
            raise SchemaIdentityError(error.message, details=error.details) from None
        raise error from None
