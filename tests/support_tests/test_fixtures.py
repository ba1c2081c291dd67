"""`root` is a fresh place on the store that `--store` names, for this process and its children."""

from __future__ import annotations

import os
import subprocess
import sys

import lance
import pyarrow as pa
import pytest

from support.object_stores import ObjectStore


def test_root_is_on_the_chosen_store(
    root: str, store: ObjectStore | None, pytestconfig: pytest.Config
) -> None:
    chosen = pytestconfig.getoption("--store")
    assert (store.name if store is not None else "local") == chosen
    assert root.startswith("s3://") == (chosen != "local")


def test_root_is_reachable_from_here_and_from_a_child(
    root: str, store_environment: dict[str, str]
) -> None:
    uri = f"{root}/nodes"
    lance.write_dataset(pa.table({"id": [1, 2, 3]}), uri)
    child = subprocess.run(
        [sys.executable, "-c", f"import lance; assert lance.dataset({uri!r}).count_rows() == 3"],
        env={**os.environ, **store_environment},
        check=False,
    )
    assert child.returncode == 0


@pytest.mark.parametrize("time", ["first", "second"])
def test_root_is_fresh_every_time(root: str, time: str) -> None:
    lance.write_dataset(pa.table({"time": [time]}), f"{root}/nodes", mode="create")
