"""Errors that point into a schema text, in the three classes section 9 names."""

from __future__ import annotations

from omnigraph.common.lexical import Span
from omnigraph.errors import CatalogError, ParseError, SchemaIdentityError
from omnigraph.schema.syntax.tree import SchemaTree


def parse_error(tree: SchemaTree, problem: str, span: Span) -> ParseError:
    """A rule of the grammar, of an annotation or of a constraint is broken."""
    return ParseError(problem, source=tree.source, span=span, file=tree.file)


def catalog_error(tree: SchemaTree, problem: str, span: Span) -> CatalogError:
    """Declarations contradict each other."""
    located = parse_error(tree, problem, span)
    return CatalogError(located.message, details=located.details)


def identity_error(tree: SchemaTree, problem: str, span: Span) -> SchemaIdentityError:
    """A rename hint cannot be matched to the accepted schema."""
    located = parse_error(tree, problem, span)
    return SchemaIdentityError(located.message, details=located.details)
