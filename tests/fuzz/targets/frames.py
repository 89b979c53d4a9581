"""What arrives on the sockets of an agent: frames for its gateway, and sealed ones between its actors.

The first byte says where the stream is cut in two, which must make no difference.
"""

from callboard.actors.runtime.actor_system import seal
from callboard.actors.runtime.frames import Frame, FrameReader, Kind, encode, up
from callboard.errors import Undecodable
from callboard.messages.distribution.fleet_mail import CommandSent

ME = 4711
KEY = bytes(range(32))
REFUSED = "refused"
LONG = b"a pickle that is long enough to be one"


def seeds() -> list[bytes]:
    join()
    asked = Frame(Kind.ASK, "queue-cache", 7, 1.5, CommandSent(command_id="q", offset=4))
    plain = [encode(asked), encode(up("importer", 3, 4711)), encode(Frame(Kind.STOPPED)) + encode(asked)]
    return [bytes([cut]) + each for cut, each in enumerate([*plain, seal.seal(ME, LONG), seal.seal(0, seal.ACK)])]


def run(data: bytes) -> None:
    join()
    cut, stream = (data[0] if data else 0), data[1:]
    whole, halves = read(stream), read(stream[:cut], stream[cut:])
    assert whole == halves or REFUSED in (*whole, *halves), "where the stream is cut makes a difference"
    assert whole[-1:] == halves[-1:], "only one of two cuts is refused"
    for frame in whole:
        if isinstance(frame, Frame):
            assert FrameReader().feed(encode(frame)) == [frame]
    events = [frame for frame in whole if isinstance(frame, str) or frame.event or frame.kind is Kind.UNKNOWN]
    assert events or stream.startswith(b"".join(map(encode, whole))), "something that was said is not heard"
    opened = unseal(stream)
    assert opened is None or stream.startswith((seal.seal(0, opened), seal.seal(ME, opened)))


def read(*parts: bytes) -> list[Frame | str]:
    """The frames, and at last whether it went no further; those that came with the bad one may be lost."""
    reader, frames = FrameReader(), list[Frame | str]()
    for part in parts:
        try:
            frames += reader.feed(part)
        except Undecodable:
            return [*frames, REFUSED]
    return frames


def unseal(stream: bytes) -> bytes | None:
    """What the frame would have unpickled; None if it is refused or too short."""
    buffer = seal.SealedBuffer(loads=bytes)
    try:
        while stream and not buffer.isDone():
            size = buffer.remainingAmount()
            assert size > 0, "it would wait for nothing"
            buffer.addMore(stream[:size])
            stream = stream[size:]
    except seal.BadFrameError:
        return None
    completed = buffer.completed()
    return completed[0] if completed else None


def join() -> None:
    seal.join(seal.Membership(KEY, "nowhere"))
    seal.listen_as(ME)
