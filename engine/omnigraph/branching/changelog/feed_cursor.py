"""Cursors and page tokens of the change feed: opaque texts that hold a whole position.

Each is bound to its graph, to its branch (not to a later one of the same name) and to its filter,
and signed with a key made from the graph's own identity. The signature finds mistakes, and
tampering by people who cannot read the graph; whoever can, could make cursors, and gains nothing.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from typing import Any, Literal

from omnigraph.branching.compare.change_filter import Filter
from omnigraph.errors import CursorRejected
from omnigraph.storage.core.model import Head

FORMAT = 1
_SIGNATURE_BYTES = 16
_HINT = "Use the cursor unchanged, with the same graph, branch and filter, or start the feed again."

PositionKind = Literal["cursor", "page"]


@dataclass(frozen=True, slots=True)
class FeedCursor:
    """Everything up to and with this commit was delivered."""

    commit: str


@dataclass(frozen=True, slots=True)
class PageToken:
    """Delivery stopped inside the block of a commit, after one of its entities."""

    commit: str
    cut: str
    """The head that the poll goes up to."""
    edges: bool
    type_id: int
    id: str
    """The last entity that was delivered: whether it is an edge, its type and its id."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What tokens of one feed belong to."""

    graph: str
    """An identity that no other graph has."""
    branch: str
    incarnation: str
    filter: str

    def issue(self, token: FeedCursor | PageToken) -> str:
        """The text of a token."""
        kind: PositionKind = "cursor" if isinstance(token, FeedCursor) else "page"
        body = {"format": FORMAT, "kind": kind, **asdict(self), "at": asdict(token)}
        payload = json.dumps(body, separators=(",", ":"), sort_keys=True).encode()
        return urlsafe_b64encode(self._signature(payload) + payload).decode().rstrip("=")

    def cursor(self, text: str) -> FeedCursor:
        """The cursor in a text; refused if it is not one of this feed."""
        return FeedCursor(**self._position(text, "cursor"))

    def page_token(self, text: str) -> PageToken:
        """The page token in a text; refused if it is not one of this feed."""
        return PageToken(**self._position(text, "page"))

    def _position(self, text: str, kind: PositionKind) -> dict[str, Any]:
        body = self._verified(text)
        if body["kind"] != kind:
            names = {"cursor": "a cursor", "page": "a page token"}
            raise _rejected(f"this is {names[body['kind']]}, not {names[kind]}")
        if body["branch"] != self.branch:
            raise _rejected(f"it belongs to branch {body['branch']!r}, not to {self.branch!r}")
        if body["incarnation"] != self.incarnation:
            raise _rejected(f"branch {self.branch!r} was deleted and created again since")
        if body["filter"] != self.filter:
            raise _rejected("it was made with another filter")
        position: dict[str, Any] = body["at"]
        return position

    def _verified(self, text: str) -> dict[str, Any]:
        try:
            raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        except (AttributeError, ValueError, binascii.Error) as error:
            raise _rejected("it is not a cursor of a change feed") from error
        signature, payload = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        canonical = urlsafe_b64encode(raw).decode().rstrip("=")
        if canonical != text or not hmac.compare_digest(signature, self._signature(payload)):
            raise _rejected("it is damaged or belongs to another graph")
        body: dict[str, Any] = json.loads(payload)
        if body["format"] != FORMAT:
            raise _rejected("it was made by another version of OmniGraph")
        return body

    def _signature(self, payload: bytes) -> bytes:
        key = hashlib.sha256(b"omnigraph change feed\0" + self.graph.encode()).digest()
        return hmac.digest(key, payload, "sha256")[:_SIGNATURE_BYTES]


def feed_binding(main: Head, head: Head, filter_: Filter) -> Binding:
    """What tokens of a feed belong to; main is never deleted, so it stands for the graph."""
    digest = hashlib.sha256(filter_.text().encode()).hexdigest()[:16]
    return Binding(main.incarnation, head.branch, head.incarnation, digest)


def _rejected(why: str) -> CursorRejected:
    return CursorRejected(f"the cursor is rejected: {why}", hint=_HINT)
