"""Any bytes, as any of the messages: the first byte says which."""

from pathlib import Path

from callboard.errors import Undecodable
from callboard.messages.codec import decode, encode, event_classes

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
CLASSES = [event_classes()[name] for name in sorted(event_classes())]
NAMES = [cls.__name__ for cls in CLASSES]


def seeds() -> list[bytes]:
    files = sorted(GOLDEN.glob("v*/*.hex"))
    return [bytes([NAMES.index(path.stem)]) + bytes.fromhex(path.read_text()) for path in files]


def run(data: bytes) -> None:
    cls = CLASSES[data[0] % len(CLASSES)] if data else CLASSES[0]
    try:
        event = decode(cls, data[1:])
    except Undecodable:
        return
    written = encode(event)
    assert decode(cls, written) == event, "it is another event once it was passed on"
    assert encode(decode(cls, written)) == written
