"""Frames that only members of one actor system can make: authenticated before a byte of them is unpickled.

A frame is ``length u32 | tag 16 | receiver u64 | pickle``; the tag is HMAC-SHA256 under the system's key over
receiver and pickle. The receiver is 0 for an acknowledgement, which returns on the same connection.
"""

import hmac
import os
import pickle
import struct
from collections import Counter
from typing import Any, NamedTuple

from callboard.logger import get_logger

MAX_PICKLE = 64 << 20
"""Bytes in one frame. A sender above it gets ``ValueError``; a receiver closes the connection."""

HEAD = struct.Struct(">I16s")
RECEIVER = struct.Struct(">Q")
ACK = pickle.dumps("ACK")
NACK = pickle.dumps("ACK+DATAERR")
"""The control messages of thespian's ``streamBuffer``."""

refused: Counter[str] = Counter()
"""Frames refused by this process, by reason."""


class Membership(NamedTuple):
    """Membership in one actor system: its key, kept in memory only, and the private folder of its sockets."""

    key: bytes
    home: str


class BadFrameError(Exception):
    """Not from this system, or not for this process."""


_membership: Membership | None = None
_receivers: set[tuple[int, int]] = set()
"""(pid, socket number) listened on; the pid invalidates what a fork has copied."""


def join(membership: Membership) -> None:
    """Make this process, and all that it forks, a member. Without this nothing can be sealed or opened."""
    global _membership  # noqa: PLW0603  # a process belongs to one system for its whole life
    _membership = membership


def member() -> Membership:
    """The membership. Raises ``RuntimeError`` in a process that joined no system, so that it fails closed."""
    if _membership is None:
        raise RuntimeError("this process belongs to no actor system; start actors through start_agent()")
    return _membership


def listen_as(receiver: int) -> None:
    """Accept frames for this socket number."""
    _receivers.add((os.getpid(), receiver))


def seal(receiver: int, pickled: bytes) -> bytes:
    """The frame around a pickle."""
    if len(pickled) > MAX_PICKLE:
        raise ValueError(f"a message of {len(pickled)} bytes is above the limit of {MAX_PICKLE}; split it")
    body = RECEIVER.pack(receiver) + pickled
    return HEAD.pack(len(body), _tag(body)) + body


def _tag(body: bytes | memoryview) -> bytes:
    return hmac.digest(member().key, body, "sha256")[:16]


class SealedBuffer:
    """Reads exactly one frame. Replaces thespian's ``ReceiveBuffer``, with the same interface.

    It must not define ``__len__``: thespian tests buffers for truth.
    """

    def __init__(self, loads: Any = pickle.loads) -> None:
        self._loads = loads
        self._data = bytearray()
        self._body = memoryview(b"")
        # No frame is shorter than an acknowledgement, so an acknowledgement takes a single recv.
        self._size = HEAD.size + RECEIVER.size + len(ACK)

    def addMore(self, data: bytes) -> None:  # noqa: N802  # thespian's name
        """Add received bytes. Raises ``BadFrameError`` as soon as the frame is known to be bad."""
        self._data += data
        if len(self._data) < HEAD.size + RECEIVER.size:
            return
        length, tag = HEAD.unpack_from(self._data)
        (receiver,) = RECEIVER.unpack_from(self._data, HEAD.size)
        if not RECEIVER.size + len(ACK) <= length <= RECEIVER.size + MAX_PICKLE:
            self._refuse("length")
        if receiver and (os.getpid(), receiver) not in _receivers:
            self._refuse("receiver")
        self._size = HEAD.size + length
        if len(self._data) == self._size:
            body = memoryview(self._data)[HEAD.size :]
            if not hmac.compare_digest(tag, _tag(body)):
                body.release()
                self._refuse("tag")
            self._body = body

    def remainingAmount(self) -> int:  # noqa: N802  # thespian's name
        """Bytes that may be read without reading into the next frame."""
        return self._size - len(self._data)

    def isDone(self) -> bool:  # noqa: N802  # thespian's name
        """Whether the frame is complete, and genuine."""
        return bool(self._body)

    def removeExtra(self) -> None:  # noqa: N802  # thespian's name
        """Do nothing: it never reads more than its frame."""

    def completed(self) -> tuple[Any, bytes] | None:
        """The message; None while incomplete."""
        return (self._loads(self._body[RECEIVER.size :]), b"") if self._body else None

    @staticmethod
    def _refuse(reason: str) -> None:
        refused[reason] += 1
        get_logger().warning("frame.refused", reason=reason, times=refused[reason])
        raise BadFrameError(reason)
