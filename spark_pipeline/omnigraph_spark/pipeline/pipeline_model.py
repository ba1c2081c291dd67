"""What a pipeline is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from omnigraph.bulk import BulkMode
from omnigraph.errors import InvalidInput

Otherwise = Literal["drop", "quarantine", "fail"]
TransformFunction: TypeAlias = Callable[[SparkSession, Mapping[str, DataFrame]], DataFrame]
"""Given the session and the DataFrames so far by name, the next DataFrame."""


@dataclass(frozen=True)
class Source:
    """Something that Spark reads: a format, a path and options; or a function that returns it."""

    format: str = "parquet"
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    function: Callable[[SparkSession], DataFrame] | None = None


@dataclass(frozen=True)
class Transform:
    """SQL over the DataFrames before it, or a function of them."""

    sql: str | None = None
    function: TransformFunction | None = None

    def __post_init__(self) -> None:
        if (self.sql is None) == (self.function is None):
            raise InvalidInput("a transform is SQL or a function", hint="Give one of the two.")


@dataclass(frozen=True)
class Expectation:
    """A SQL condition that every row should satisfy, and what is done with those that do not."""

    check: str
    otherwise: Otherwise = "fail"
    name: str | None = None

    def __post_init__(self) -> None:
        if self.otherwise not in ("drop", "quarantine", "fail"):
            raise InvalidInput(
                f"`otherwise` cannot be {self.otherwise!r}",
                hint="Use drop, quarantine or fail.",
            )

    @property
    def title(self) -> str:
        return self.name or self.check


@dataclass(frozen=True)
class Output:
    """A table of the graph that gets the rows of a source or transform."""

    table_key: str
    """`node:Person`, `edge:Knows` or `table:schema.name`."""
    rows: str
    """The name of the source or transform."""
    mode: BulkMode = "append"
    expectations: tuple[Expectation, ...] = ()

    @property
    def quarantine(self) -> str:
        """The plain table of the quarantined rows."""
        return "quarantine." + self.table_key.partition(":")[2].replace(".", "_").lower()


@dataclass(frozen=True)
class Check:
    """A `.gq` read of the result and a SQL condition that every row of its answer must satisfy.

    An answer without rows does not pass.
    """

    name: str
    gq: str
    expect: str
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Pipeline:
    """Everything from raw data to one publish."""

    name: str
    graph: str
    sources: Mapping[str, Source]
    outputs: tuple[Output, ...]
    transforms: Mapping[str, Transform] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    branch: str = "main"
    message: str | None = None
    actor: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the data source: storage, token, TLS."""

    def __post_init__(self) -> None:
        twice = set(self.sources) & set(self.transforms)
        if twice:
            raise InvalidInput(f"{min(twice)!r} names a source and a transform")
        for output in self.outputs:
            if output.rows not in self.sources and output.rows not in self.transforms:
                known = sorted([*self.sources, *self.transforms])
                raise InvalidInput(
                    f"{output.table_key} takes its rows from {output.rows!r}, which does not exist",
                    hint=f"There are {', '.join(known)}.",
                )
        if not self.outputs:
            raise InvalidInput(f"the pipeline {self.name} writes nothing", hint="Add an output.")
