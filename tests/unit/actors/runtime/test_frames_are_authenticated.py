import pickle
import secrets
import struct
from pathlib import Path

import pytest

from callboard.actors.runtime.actor_system import seal
from callboard.actors.runtime.frames import Frame, FrameReader, Kind, encode, epoch_and_pid, up
from callboard.errors import Undecodable
from callboard.messages.distribution.fleet_mail import CommandSent

ME = 4711


class Exploit:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (Path.touch, (self.path,))


@pytest.fixture(autouse=True)
def membership(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "_membership", seal.Membership(secrets.token_bytes(32), "nowhere"))
    monkeypatch.setattr(seal, "_receivers", set())
    monkeypatch.setattr(seal, "refused", seal.Counter())
    seal.listen_as(ME)


def opened(data: bytes) -> object:
    """Feed it as a socket would: never more than asked for."""
    buffer = seal.SealedBuffer()
    while data and not buffer.isDone():
        size = buffer.remainingAmount()
        buffer.addMore(data[:size])
        data = data[size:]
    completed = buffer.completed()
    return completed[0] if completed else None


def test_a_genuine_frame_is_opened(tmp_path: Path) -> None:
    assert opened(seal.seal(ME, pickle.dumps("a genuine message, long enough"))) == "a genuine message, long enough"
    opened(seal.seal(ME, pickle.dumps(Exploit(tmp_path / "proof"))))
    assert (tmp_path / "proof").exists(), "or the tests below prove nothing"


def forged(case: str, exploit: bytes) -> bytes:
    body = struct.pack(">Q", ME) + exploit
    genuine = seal.seal(ME, exploit)
    return {
        "stock": str(len(exploit)).encode() + b" " + exploit,
        "wrong tag": struct.pack(">I16s", len(body), b"x" * 16) + body,
        "huge": struct.pack(">I16s", 0x7FFFFFFF, b"x" * 16) + body,
        "empty": struct.pack(">I16s", 0, b"x" * 16) + body,
        "negative": struct.pack(">i16s", -1, b"x" * 16) + body,
        "flipped bit": genuine[:-1] + bytes([genuine[-1] ^ 1]),
        "flipped receiver": genuine[:27] + bytes([genuine[27] ^ 1]) + genuine[28:],
        "other receiver": seal.seal(ME + 1, exploit),
    }[case]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("stock", "length"),
        ("wrong tag", "tag"),
        ("huge", "length"),
        ("empty", "length"),
        ("negative", "length"),
        ("flipped bit", "tag"),
        ("flipped receiver", "receiver"),
        ("other receiver", "receiver"),
    ],
)
def test_a_forged_frame_is_refused_before_it_is_unpickled(case: str, reason: str, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    with pytest.raises(seal.BadFrameError):
        opened(forged(case, pickle.dumps(Exploit(proof))))
    assert seal.refused == {reason: 1}
    assert not proof.exists()


def test_a_frame_of_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = seal.seal(ME, pickle.dumps("a message of another system"))
    monkeypatch.setattr(seal, "_membership", seal.Membership(secrets.token_bytes(32), "elsewhere"))
    with pytest.raises(seal.BadFrameError):
        opened(frame)


def test_nothing_is_sealed_or_opened_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = seal.seal(ME, pickle.dumps("a message from before"))
    monkeypatch.setattr(seal, "_membership", None)
    with pytest.raises(RuntimeError, match="no actor system"):
        seal.seal(ME, b"anything")
    with pytest.raises(RuntimeError, match="no actor system"):
        opened(frame)


def test_a_message_above_the_limit_is_refused_by_its_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "MAX_PICKLE", 100)
    with pytest.raises(ValueError, match="split it"):
        seal.seal(ME, bytes(101))


def test_frames_survive_the_stream_in_pieces_of_any_size() -> None:
    frames = [
        Frame(Kind.ASK, "role", 7, event=CommandSent(command_id="x", offset=3)),
        Frame(Kind.STOP, seconds=2.5),
        up("röle", 3, 12345),
    ]
    data = b"".join(map(encode, frames))
    for size in (1, 7, len(data)):
        reader = FrameReader()
        got = [frame for at in range(0, len(data), size) for frame in reader.feed(data[at : at + size])]
        assert got == frames
    assert epoch_and_pid(frames[2]) == (3, 12345)


def test_bytes_that_are_no_frame_are_undecodable() -> None:
    with pytest.raises(Undecodable):
        FrameReader().feed(b"\xff\xff\xff\xff")
