"""Pipelines in files: a YAML document, or a Python module with a `pipeline`."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph_spark.pipeline.pipeline_model import (
    Check,
    Expectation,
    Output,
    Pipeline,
    Source,
    Transform,
)

_KINDS = {"nodes": "node", "edges": "edge", "tables": "table"}
_KEYS = {each.name for each in fields(Pipeline)} - {"outputs"} | set(_KINDS)


def read_pipeline(file: str | Path, graph: str | None = None) -> Pipeline:
    """The pipeline of a file; `graph` overrides the one it names."""
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"there is no pipeline file {str(file)!r}", hint="Give a .yaml or .py file.")
    if path.suffix == ".py":
        return _from_module(path)
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path.name} is not YAML: {error}") from error
    return from_document(document, path.parent, path.stem, graph)


def from_document(document: object, folder: Path, name: str, graph: str | None = None) -> Pipeline:
    """The pipeline that a YAML document describes; paths are relative to a folder."""
    body = _mapping(document, "the pipeline")
    _only(body, _KEYS, "the pipeline")
    uri = graph or body.get("graph")
    if not uri:
        raise InvalidInput("the pipeline names no graph", hint="Add `graph:`, or use --store.")
    outputs = [
        _output(f"{kind}:{table}", value)
        for section, kind in _KINDS.items()
        for table, value in _section(body, section).items()
    ]
    return Pipeline(
        name=body.get("name", name),
        graph=_located(uri, folder) if graph is None else uri,
        branch=body.get("branch", "main"),
        message=body.get("message"),
        actor=body.get("actor"),
        options=_texts(body.get("options") or {}, "options"),
        sources={
            key: _source(key, value, folder) for key, value in _section(body, "sources").items()
        },
        transforms={
            key: _transform(key, value) for key, value in _section(body, "transforms").items()
        },
        outputs=tuple(outputs),
        checks=tuple(_check(value) for value in body.get("checks") or ()),
    )


def _from_module(path: Path) -> Pipeline:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pipeline = getattr(module, "pipeline", None)
    if not isinstance(pipeline, Pipeline):
        raise InvalidInput(
            f"{path.name} has no `pipeline`", hint="Assign an omnigraph_spark.Pipeline to it."
        )
    return pipeline


# --------------------------------------------------------------------------- parts


def _source(name: str, value: object, folder: Path) -> Source:
    body = _mapping(value, f"the source {name}")
    _only(body, {"format", "path", "options", "schema"}, f"the source {name}")
    path = body.get("path")
    return Source(
        format=body.get("format", "parquet"),
        path=_located(path, folder) if path else None,
        options=_texts(body.get("options") or {}, f"the options of {name}"),
        schema=body.get("schema"),
    )


def _transform(name: str, value: object) -> Transform:
    if isinstance(value, str):
        return Transform(sql=value)
    body = _mapping(value, f"the transform {name}")
    _only(body, {"sql", "function"}, f"the transform {name}")
    function = body.get("function")
    return Transform(sql=body.get("sql"), function=_function(function) if function else None)


def _function(text: str) -> Callable[..., Any]:
    module, colon, name = text.partition(":")
    try:
        function = getattr(importlib.import_module(module), name) if colon else None
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"{text!r} cannot be imported: {error}") from error
    if not callable(function):
        raise InvalidInput(f"{text!r} is not a function", hint="Write module:function.")
    return function  # type: ignore[no-any-return]


def _output(table_key: str, value: object) -> Output:
    body = _mapping(value, table_key)
    _only(body, {"from", "mode", "expect"}, table_key)
    if "from" not in body:
        raise InvalidInput(f"{table_key} does not name the source of its rows", hint="Add `from:`.")
    expectations = []
    for each in body.get("expect") or ():
        expectation = _mapping(each, f"an expectation of {table_key}")
        _only(expectation, {"check", "otherwise", "name"}, f"an expectation of {table_key}")
        if "check" not in expectation:
            raise InvalidInput(f"an expectation of {table_key} has no `check`")
        expectations.append(Expectation(**expectation))
    return Output(table_key, body["from"], body.get("mode", "append"), tuple(expectations))


def _check(value: object) -> Check:
    body = _mapping(value, "a check")
    _only(body, {"name", "gq", "expect", "params"}, "a check")
    missing = {"name", "gq", "expect"} - set(body)
    if missing:
        raise InvalidInput(f"a check has no `{min(missing)}`")
    return Check(**body)


def _located(path: str, folder: Path) -> str:
    return path if "://" in path or Path(path).is_absolute() else str(folder / path)


def _section(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return _mapping(body.get(name) or {}, name)


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} is not a mapping", hint="Write it as `key: value` lines.")
    return value


def _texts(value: object, what: str) -> dict[str, str]:
    values = _mapping(value, what).items()
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in values}


def _only(body: Mapping[str, Any], known: set[str], what: str) -> None:
    for key in body:
        if key not in known:
            raise InvalidInput(
                f"{what} has no key {key!r}{did_you_mean(str(key), sorted(known))}",
                hint=f"There are {', '.join(sorted(known))}.",
            )
