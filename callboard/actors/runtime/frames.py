"""The frames between a service and the gateway of its agent, and their encoding on a stream.

A frame is ``length u32 | kind u8 | number u64 | seconds f64 | role's length u16 | name's length u16 | role |
event's name | event``. There is no pickle on this stream: a hostile byte can at worst make a bad frame.
"""

import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from callboard.actors.runtime.actor_system.actors import ActorAddress
from callboard.errors import RequestRefused, Undecodable
from callboard.messages.codec import decode_any, encode_any
from callboard.messages.event import Event

MAX_FRAME = 64 << 20
"""Bytes. Questions and answers are pages of a queue at most; a larger frame is not ours."""

_LENGTH = struct.Struct(">I")
_HEAD = struct.Struct(">BQdHH")


class Kind(IntEnum):
    """The kind of a frame. The first two go to the agent, the others come from it; the last two replace an answer."""

    ASK = 0
    STOP = 1
    UP = 2
    DOWN = 3
    ANSWER = 4
    PROBLEM = 5
    STOPPED = 6
    TOO_LARGE = 7
    UNKNOWN = 8


@dataclass(frozen=True, slots=True)
class Frame:
    """One message; ``number`` is the question's number (ASK, ANSWER, and PROBLEM, where 0 means a problem of the whole
    agent), or the epoch with the pid above it.

    ``seconds`` is how long a stop may drain.
    """

    kind: Kind
    role: str = ""
    number: int = 0
    seconds: float = 0.0
    event: Event | None = None

    def __str__(self) -> str:
        return "Frame"


class Outlet(Protocol):
    """The gateway's side of the connection to the service."""

    @property
    def watch(self) -> Any:
        """The value that the gateway must return from every handler to be woken for frames; None if not needed."""
        ...

    def open(self, gateway: ActorAddress) -> None:
        """Connect; ``gateway`` is the gateway's address."""
        ...

    def put(self, frame: Frame) -> None:
        """Send a frame to the service."""
        ...

    def received(self) -> list[Frame]:
        """Frames from the service since the last call, where they are not mailed to the gateway."""
        ...


def up(role: str, epoch: int, pid: int) -> Frame:
    """The frame for an actor that is up."""
    return Frame(Kind.UP, role, pid << 32 | epoch)


def epoch_and_pid(frame: Frame) -> tuple[int, int]:
    """The epoch and pid that ``up`` packed into the number."""
    return frame.number & 0xFFFFFFFF, frame.number >> 32


def encode(frame: Frame) -> bytes:
    """The frame as bytes for the stream; an answer that is too large is replaced by a problem that says so.

    Raises ``RequestRefused`` for any other frame that is too large.
    """
    role = frame.role.encode()
    event_name, event = encode_any(frame.event) if frame.event is not None else ("", b"")
    name = event_name.encode()
    head = _HEAD.pack(frame.kind, frame.number, frame.seconds, len(role), len(name))
    body = b"".join((head, role, name, event))
    if len(body) > MAX_FRAME and frame.kind is Kind.ANSWER:
        return encode(Frame(Kind.TOO_LARGE, frame.role, frame.number))
    if len(body) > MAX_FRAME:
        raise RequestRefused(
            f"the question to {frame.role} has {len(body)} bytes; ask for less, {MAX_FRAME} at most", code="too_large"
        )
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """Splits a stream into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames completed by this data. Raises ``Undecodable`` for an invalid frame."""
        self._data += data
        frames = []
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if not _HEAD.size <= length <= MAX_FRAME:
                raise Undecodable(f"the agent's gateway sent an invalid length of {length} bytes; restart the agent")
            end = _LENGTH.size + length
            if len(self._data) < end:
                break
            frames.append(_decode(bytes(self._data[_LENGTH.size : end])))
            del self._data[:end]
        return frames


def _decode(body: bytes) -> Frame:
    kind, number, seconds, role_size, name_size = _HEAD.unpack_from(body)
    name_at = _HEAD.size + role_size
    event_at = name_at + name_size
    if len(body) < event_at or (len(body) > event_at and not name_size):
        raise Undecodable(f"the parts of a frame of {len(body)} bytes do not add up; restart the agent")
    if not 0 <= seconds < math.inf:
        raise Undecodable(f"a frame has an invalid time of {seconds} seconds; restart the agent")
    try:
        kind, role, name = Kind(kind), body[_HEAD.size : name_at].decode(), body[name_at:event_at].decode()
    except ValueError as error:  # includes invalid UTF-8
        raise Undecodable(f"a frame is unknown to this version: {error}; restart the agent") from error
    try:
        return Frame(kind, role, number, seconds, decode_any(name, body[event_at:]) if name else None)
    except Undecodable:
        if kind not in (Kind.ASK, Kind.ANSWER):
            raise
        return Frame(Kind.UNKNOWN, role, number)  # the event of a service, which has not declared it in this process
