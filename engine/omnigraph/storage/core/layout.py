"""Where things live under a graph's root."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import unquote, urlsplit

from omnigraph.errors import InvalidInput

MANIFEST = "__manifest"
TABLE_FOLDERS = {"node": "nodes", "edge": "edges", "table": "tables"}
VERSIONS = "_versions"
"""The folder of a table, and of the manifest, with the files of its versions."""
_LAST_VERSION = (1 << 64) - 1
_REMOTE_SCHEMES = frozenset({"s3", "gs", "az", "abfss", "memory"})


def fnv1a64(text: str) -> int:
    """64-bit FNV-1a of the UTF-8 bytes of a text."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def table_location(table_key: str) -> str:
    """The folder, relative to the root, of a table that a graph is created with."""
    kind, _, name = table_key.partition(":")
    return f"{TABLE_FOLDERS[kind]}/{fnv1a64(name):016x}"


def new_table_location(table_key: str) -> str:
    """The same for a table that is added to a graph: a folder that no table has had before, so
    that one whose tables are all dropped can be deleted while others are made."""
    return f"{table_location(table_key)}-{secrets.token_hex(6)}"


def version_file(number: int) -> str:
    """Where an ordinary version is, in its dataset: named so that the newest is listed first."""
    return f"{VERSIONS}/{_LAST_VERSION - number:020}.manifest"


def version_of(path: str) -> int | None:
    """The number of an ordinary version file, none for any other file."""
    digits = path.rpartition("/")[2].removesuffix(".manifest")
    return _LAST_VERSION - int(digits) if len(digits) == 20 and digits.isdigit() else None


def normalize_root(uri: str | Path) -> str:
    """A root as an absolute local path or as `scheme://bucket/prefix`, without a trailing slash."""
    text = str(uri).strip()
    if not text or "\x00" in text:
        raise InvalidInput(
            f"{text!r} is not a graph URI", hint="Give a path, file:///path or s3://bucket/prefix."
        )
    parts = urlsplit(text)
    if "://" not in text:
        return str(Path(text).expanduser().absolute())
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.strip("/"):
            raise InvalidInput(
                f"{text!r} is not a file URI of a graph", hint="Write it as file:///path/to/graph."
            )
        return str(Path(unquote(parts.path)).absolute())
    if parts.scheme not in _REMOTE_SCHEMES:
        raise InvalidInput(
            f"{text!r} has the unknown scheme {parts.scheme!r}",
            hint="Use a local path, file:// or s3:// (gs:// and az:// where Lance has them).",
        )
    if not parts.netloc or not parts.path.strip("/"):
        raise InvalidInput(
            f"{text!r} names no {'prefix' if parts.netloc else 'bucket'}",
            hint=f"Write it as {parts.scheme}://bucket/prefix.",
        )
    return f"{parts.scheme}://{parts.netloc}/{parts.path.strip('/')}"


def is_local(root: str) -> bool:
    """Whether a normalized root is a local path."""
    return "://" not in root
