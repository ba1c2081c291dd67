"""A Spark cluster of two hosts: a second attempt of a task never runs on the host of the first."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
HOSTS = ("127.0.0.1", "127.0.0.2")


@contextmanager
def two_hosts(folder: Path) -> Iterator[str]:
    """The address of a cluster with a core on each host; it is gone afterwards."""
    with socket.socket() as free:
        free.bind((HOSTS[0], 0))
        port = str(free.getsockname()[1])
    address = f"spark://{HOSTS[0]}:{port}"
    worker = ["-c", "1", "-m", "1g", "-d", str(folder), address]
    with ExitStack() as running:
        running.enter_context(_daemon("master.Master", HOSTS[0], "--port", port))
        for host in HOSTS:
            running.enter_context(_daemon("worker.Worker", host, *worker))
        yield address


@contextmanager
def _daemon(name: str, host: str, *arguments: str) -> Iterator[None]:
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    with subprocess.Popen(
        [*command, "--host", host, "--webui-port", "0", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": host},
        start_new_session=True,
    ) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
