"""Lint of a query file: every error at once, and what an author probably forgot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from omnigraph.errors import InvalidInput, ParseError, QueryTypeError
from omnigraph.query.compile import CompiledQuery, compile_tree
from omnigraph.query.logical.logical_plan import MutationPlan, UpdateNodes
from omnigraph.query.syntax.parse import parse
from omnigraph.query.syntax.tree import MutationTree, QueryTree
from omnigraph.schema.model.catalog import Catalog

Severity = OneOf["error", "warning"]


@dataclass(frozen=True)
class LintFinding:
    severity: Severity
    message: str
    code: str | None = None
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        body = vars(self) | {"query_names": list(self.query_names)}
        return {name: value for name, value in body.items() if value}


@dataclass(frozen=True)
class LintReport:
    """Findings are sorted: errors first, then by type and property."""

    queries_processed: int
    findings: tuple[LintFinding, ...]

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.severity == "warning" for finding in self.findings)

    @property
    def status(self) -> OneOf["ok", "error"]:
        return "error" if self.errors else "ok"

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "errors": self.errors,
            "warnings": self.warnings,
            "queries_processed": self.queries_processed,
            "findings": [finding.to_json() for finding in self.findings],
        }


def lint(source: str, catalog: Catalog, file: str | None = None) -> LintReport:
    """Look at every query of a text, whatever is wrong with the others."""
    try:
        tree = parse(source, file)
    except ParseError as error:
        return LintReport(0, (LintFinding("error", error.message, code="Q000"),))
    findings: list[LintFinding] = []
    valid: list[CompiledQuery] = []
    for query in tree.queries:
        findings += _habits(query)
        try:
            valid.append(compile_tree(tree, query, catalog))
        except InvalidInput as error:
            code = error.type_code if isinstance(error, QueryTypeError) else None
            names = (query.name.text,)
            findings.append(LintFinding("error", error.message, code=code, query_names=names))
    findings += _forgotten_properties(valid, catalog)
    return LintReport(len(tree.queries), tuple(sorted(findings, key=_place)))


def _place(finding: LintFinding) -> tuple[bool, str, str, tuple[str, ...], str]:
    return (
        finding.severity != "error",
        finding.type_name or "",
        finding.property or "",
        finding.query_names,
        finding.message,
    )


def _habits(query: QueryTree) -> Iterator[LintFinding]:
    if isinstance(query.body, MutationTree) and not query.params:
        yield LintFinding(
            "warning",
            f"mutation {query.name.text!r} takes no parameters, so it can only do one thing",
            query_names=(query.name.text,),
        )


# --------------------------------------------------------------------------- L201


def _forgotten_properties(queries: list[CompiledQuery], catalog: Catalog) -> Iterator[LintFinding]:
    updated_by: dict[str, set[str]] = defaultdict(set)
    updated: dict[str, set[str]] = defaultdict(set)
    for query in queries:
        for statement in query.ir.statements if isinstance(query.ir, MutationPlan) else ():
            if isinstance(statement, UpdateNodes):
                updated_by[statement.type_name].add(query.name)
                updated[statement.type_name] |= {a.property for a in statement.assignments}
    for type_name, names in updated_by.items():
        node = catalog.nodes[type_name]
        key = () if node.key is None else node.key.members
        for prop in node.properties:
            settable = prop.nullable and prop.name not in key and prop.embed is None
            if settable and prop.name not in updated[type_name]:
                yield LintFinding(
                    "warning",
                    f"no update query sets {type_name}.{prop.name}",
                    code="L201",
                    type_name=type_name,
                    property=prop.name,
                    query_names=tuple(sorted(names)),
                )
