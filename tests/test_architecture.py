"""The tree is the architecture: who may import what."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "engine" / "omnigraph"
SQL = ROOT / "sql_bridge" / "omnigraph_sql"
FLIGHT = ROOT / "flight_server" / "omnigraph_flight"
SPARK = ROOT / "spark_pipeline" / "omnigraph_spark"
PACKAGES = {
    "omnigraph": ENGINE,
    "omnigraph_sql": SQL,
    "omnigraph_flight": FLIGHT,
    "omnigraph_spark": SPARK,
    "dbt": ROOT / "dbt-omnigraph" / "dbt",
}

LAYERS = {
    "omnigraph": """
        errors common
        schema.model schema.syntax schema.compiler schema.evolution schema
        query.syntax query.logical query.check query
        embedding
        storage.core storage.tables storage.constraints storage.manifest storage.commit storage
        storage.plain storage.refs storage.maintenance storage.backup storage.transaction
        loading
        branching.compare branching.changelog branching.merge branching
        exec.search exec.columns exec.graph exec.evaluate exec.plan exec.run exec.mutate exec
        api bulk .
        cli.command cli.exit_codes cli.output cli cli.data cli.versioning
    """,
    "omnigraph_sql": """
        frontend datafusion.dialect datafusion catalog resolve
        rewrite.shapes rewrite.names rewrite.types rewrite.subqueries rewrite
        planning
        writing.statement writing.dml writing.ddl writing
        session .
    """,
    "omnigraph_flight": "protocol access config sessions handlers .",
    "omnigraph_spark": """
        server_errors graph_location spark_types server_connection pinned_moment
        reading writing gq pipeline
        data_source submit cli .
    """,
}
"""The folders of each package, bottom first; `.` is what lies beside them. A folder imports only
itself and what stands before it."""

FACES = {
    "omnigraph": """
        omnigraph omnigraph.errors omnigraph.lazy_exports
        omnigraph.schema omnigraph.query omnigraph.query.logical
        omnigraph.tables omnigraph.bulk
        omnigraph.cli.command omnigraph.cli.options omnigraph.cli.output
        omnigraph.cli.query_text omnigraph.cli.result_output
    """,
    "omnigraph_sql": "omnigraph_sql",
    "omnigraph_flight": "omnigraph_flight",
    "omnigraph_spark": "omnigraph_spark",
}
"""The modules of each package that other packages import."""

FORBIDDEN = {
    "schema": {"lance", "datafusion", "obstore", "omnigraph.storage", "omnigraph.loading"},
    "query": {"lance", "datafusion", "obstore", "omnigraph.storage", "omnigraph.loading"},
    "storage": {"datafusion", "omnigraph.query", "omnigraph.loading", "omnigraph.cli"},
    "loading": {"lance", "datafusion", "obstore", "omnigraph.query", "omnigraph.cli"},
    "branching": {
        "lance",
        "datafusion",
        "obstore",
        "omnigraph.query",
        "omnigraph.exec",
        "omnigraph.loading",
        "omnigraph.cli",
    },
    "exec": {"lance", "obstore", "omnigraph.cli"},
    "embedding": {"lance", "pyarrow", "omnigraph.storage", "omnigraph.query"},
    "cli": {"lance", "datafusion", "obstore"},
}
ARROW_HOMES = {
    "schema": {ENGINE / "schema/model/arrow_schema.py", ENGINE / "schema/model/entity_ids.py"},
    "query": {ENGINE / "query/logical/result_schema.py"},
}
THROUGH_STORAGE = {ENGINE / "loading/load.py", ENGINE / "loading/export_snapshot.py"}
LANCE_HOMES = (ENGINE / "storage/tables", ENGINE / "storage/manifest")
LANCE_CALLS = {"handle", "scanner", "get_fragments", "get_fragment", "describe_indices"}
"""`TableStore.handle` and what is called on the dataset that it gives."""
LANCE_TYPES = {"LanceDataset", "LanceFragment", "FragmentMetadata", "OpenTable"}
FLIGHT_STATUSES = FLIGHT / "protocol/flight_status.py"
PASSES = SQL / "rewrite"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def modules(package: str) -> list[Path]:
    return sources(ENGINE / package)


def sources(folder: Path) -> list[Path]:
    """The modules below a folder; of none, every rule would hold."""
    found = sorted(folder.rglob("*.py"))
    assert found, folder
    return found


def module_name(path: Path) -> str:
    for package, folder in PACKAGES.items():
        if path.is_relative_to(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            return ".".join([package, *(part for part in parts if part != "__init__")])
    raise ValueError(path)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def layer_of(module: str, order: list[str]) -> int:
    """The place of a module's folder in the order: that of the longest name it lies under."""
    return max(
        (index for index, layer in enumerate(order) if within(module, layer)),
        key=lambda index: len(order[index]),
    )


@pytest.mark.parametrize("package", LAYERS)
def test_folders_import_only_what_lies_below_them(package: str) -> None:
    order = [package if name == "." else f"{package}.{name}" for name in LAYERS[package].split()]
    paths = {module_name(path): path for path in sources(PACKAGES[package])}
    upwards = [
        f"{module} imports {name}"
        for module, path in paths.items()
        for name in imports(path)
        if within(name, package) and layer_of(name, order) > layer_of(module, order)
    ]
    assert upwards == []


@pytest.mark.parametrize("package", FACES)
def test_other_packages_import_a_package_by_its_faces(package: str) -> None:
    faces = set(FACES[package].split())
    behind = [
        f"{module_name(path)} imports {name}"
        for other, folder in PACKAGES.items()
        if other != package
        for path in sources(folder)
        for name in imported_modules(path)
        if within(name, package) and name not in faces
    ]
    assert behind == []


def imported_modules(path: Path) -> Iterator[str]:
    """Like `imports`, with a module that is imported from its package by its own name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if is_module(name) else node.module or "" for name in names)


def is_module(name: str) -> bool:
    package, *parts = name.split(".")
    if package not in PACKAGES:
        return False
    path = PACKAGES[package].joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_a_public_class_name_means_one_thing() -> None:
    homes = defaultdict(set)
    for folder in PACKAGES.values():
        for path in sources(folder):
            for name in types_defined_in(path):
                homes[name].add(module_name(path))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def types_defined_in(path: Path) -> Iterator[str]:
    """The public classes and type aliases of a module."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [each.id for each in targets if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                continue
        yield from (n for n in names if n[0].isupper() and not n.isupper())


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_only_what_they_may(package: str) -> None:
    wrong = [
        (path.name, name)
        for path in modules(package)
        for name in imports(path)
        for forbidden in FORBIDDEN[package]
        if within(name, forbidden)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ARROW_HOMES)
def test_compilers_meet_arrow_in_one_place(package: str) -> None:
    assert set(modules(package)) > ARROW_HOMES[package]
    wrong = [
        path.name
        for path in modules(package)
        if path not in ARROW_HOMES[package]
        and any(within(name, "pyarrow") for name in imports(path))
    ]
    assert wrong == []


def outside_lance() -> list[Path]:
    """The modules of the engine that may not see a Lance object."""
    for home in LANCE_HOMES:
        assert any(within(name, "lance") for path in sources(home) for name in imports(path))
    return [p for p in sources(ENGINE) if not any(p.is_relative_to(home) for home in LANCE_HOMES)]


def test_lance_is_imported_by_tables_and_the_manifest_alone() -> None:
    wrong = [
        (module_name(path), name)
        for path in outside_lance()
        for name in imports(path)
        if within(name, "lance")
    ]
    assert wrong == []


def test_no_lance_object_leaves_the_tables() -> None:
    wrong = [
        (module_name(path), node.lineno, ast.unparse(node))
        for path in outside_lance()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Call) and called_name(node) in LANCE_CALLS)
        or (isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in LANCE_TYPES)
    ]
    assert wrong == []
    used = {
        called_name(node)
        for path in sources(ENGINE / "storage/tables")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    }
    assert used >= LANCE_CALLS  # else they have other names by now


def called_name(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else None


def test_readers_and_writers_of_files_know_no_storage() -> None:
    assert set(modules("loading")) > THROUGH_STORAGE
    wrong = [
        path.name
        for path in modules("loading")
        if path not in THROUGH_STORAGE
        and any(within(name, "omnigraph.storage") for name in imports(path))
    ]
    assert wrong == []


def test_sql_knows_neither_transport_nor_lance() -> None:
    forbidden = ("lance", "obstore", "pyarrow.flight", "omnigraph_flight", "adbc_driver_flightsql")
    wrong = [
        (path.name, name)
        for path in sources(SQL)
        for name in imports(path)
        if any(within(name, package) for package in forbidden)
    ]
    assert wrong == []


def test_one_package_of_sql_imports_datafusion() -> None:
    home = SQL / "datafusion"
    assert any(within(name, "datafusion") for path in sources(home) for name in imports(path))
    wrong = [
        module_name(path)
        for path in sources(SQL)
        if not path.is_relative_to(home)
        and any(within(name, "datafusion") for name in imports(path))
    ]
    assert wrong == []


def test_the_server_knows_no_engine_underneath() -> None:
    forbidden = ("lance", "obstore", "datafusion", "sqlglot", "adbc_driver_flightsql")
    wrong = [
        (path.name, name)
        for path in sources(FLIGHT)
        for name in imports(path)
        if any(within(name, package) for package in forbidden)
    ]
    assert wrong == []


def test_errors_become_flight_statuses_in_one_place() -> None:
    assert FLIGHT_STATUSES.is_file()
    wrong = [
        path.name
        for path in sources(FLIGHT)
        if path != FLIGHT_STATUSES
        and any(
            isinstance(node, ast.Raise) and "fl.Flight" in ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert wrong == []


def test_passes_of_sql_are_one_function_in_a_file_of_its_name() -> None:
    for path in sources(PASSES):
        tree = ast.parse(path.read_text())
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert path.name == "__init__.py" or path.stem in functions


def test_every_package_says_what_it_promises() -> None:
    found = {path.parent for top in (ENGINE, SQL, FLIGHT, SPARK) for path in sources(top)}
    for package in sorted(found):
        doc = ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
        assert doc, package.name
        assert len(doc.splitlines()) >= 1


def test_modules_stay_readable() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*sources(ENGINE), *sources(SQL), *sources(FLIGHT)]
        if (lines := len(path.read_text().splitlines())) > 500
    }
    assert long == {}
