"""Hostile records for every topic: damaged real ones, and made-up ones with hostile values.

A record is made from its number and the seed alone, and from what is true of the board (``Known``), so each can be
made again by itself. Messages are written as Protocol Buffers by hand, for they have what the library would refuse.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from callboard.backends.log import RECORD_BYTES_MAX
from callboard.messages.codec import descriptor_of, event_classes
from callboard.messages.distribution.package_event import DISTRIBUTED, MARKS, OTHER
from callboard.messages.record import NewRecord, Record, pack_headers

KINDS = ("package", "discovery", "status", "command", "event")
"""What the topics are called behind the prefix."""

WEIGHTS = (4, 5, 5, 4, 3)
TYPES = {
    "package": ("PackageMessage",),
    "discovery": ("DiscoveryMessage", "DiscoveryMessage", "ForgottenMessage", "ThrottledMessage", "ArchivedMessage",
                  "LogMessage", "FoldAnnouncementMessage"),
    "status": ("PackageStatusMessage", "PackageStatusMessage", "CommandResultMessage", "PingMessage"),
    "command": ("CommandMessage",),
    "event": (DISTRIBUTED, OTHER, MARKS),
}  # fmt: skip

DAY_NS = 86_400 * 10**9
MEGABYTE = 1_000_000
HUGE_ONE_IN = 400
"""Records of a megabyte or so: of 100,000 records 250 MB."""
DANGERS = (0.0, 0.02, 0.1, 0.5, 1.0)
"""Which part of a message's fields has hostile values. Those of 0 are forged, but make sense."""

TEXTS = (
    b"", b"a\0b", b"\0", b"\xed\xa0\x80", b"\xff\xfe", b"\x1b[2J", "\u202egde".encode(), b"../../etc/passwd", b"/..",
    b"/", b" ", b"\n", b"%s%n{}", b"x" * 300, b"x" * 70_000, b"\n".join([b"edge"] * 500), b"{\"a\": 1}", b"nan", b"-1",
    "\U0001f4a9".encode() * 40, b"a" * 100, b"a" * 101, b"9" * 400,
)  # fmt: skip
WHOLE = (
    0, 1, 2, 7, -1, -2, 255, 1000, 2**31 - 1, 2**31, 2**32, -(2**31), 2**53, 2**62, 2**63 - 1, -(2**63), 2**63,
    2**64 - 1,
)  # fmt: skip
VERSIONS = ("1.2", "1.0", "1", "1.9", "1.999999999", "2.0", "7.1", "0", "0.0", "-1", "x", "", "1.2.3", "9" * 400, "१.२")


class Block(tuple[()]):
    """Headers as they are on the log, which need not be packed headers at all."""

    block: bytes


class Made(NamedTuple):
    """A record for the topic of this kind, and the time of its append, if that is not now."""

    kind: str
    record: NewRecord
    time_ns: int | None


@dataclass
class Known:
    """What is true of the board, so that what is forged fits. ``seen`` are real records by kind of topic."""

    names: tuple[str, ...] = ()
    instances: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    publishers: tuple[str, ...] = ("site", "shop")
    log_id: str = ""
    end: int = 1
    now_ns: int = 0
    seen: dict[str, list[Record]] = field(default_factory=dict)
    contents: list[bytes] = field(default_factory=list)


def golden(folder: Path = Path(__file__).parents[1] / "golden") -> list[tuple[str, bytes]]:
    """The type and the bytes of every message that was ever written, in the order of their names."""
    return [(path.stem, bytes.fromhex(path.read_text())) for path in sorted(folder.glob("v*/*.hex"))]


GOLDEN = golden()


class Forger:
    """Makes the record of one number."""

    def __init__(self, seed: int, number: int, known: Known) -> None:
        self.rng = Random(f"{seed}/{number}")
        self.number, self.known = number, known
        self.huge = self.rng.randrange(HUGE_ONE_IN) == 0
        self.danger = 0.0

    def make(self) -> Made:
        """The record."""
        rng = self.rng
        (kind,) = rng.choices(KINDS, WEIGHTS)
        self.danger = rng.choice(DANGERS)
        real = self.known.seen.get(kind) or []
        way = rng.random()
        if real and way < 0.15:
            record = self._damaged(rng.choice(real if rng.random() < 0.9 else self.known.seen["package"]))
        elif real and way < 0.25 and kind != "event":
            record = self._forged(kind, rng.choice(real))
        elif way < 0.3:
            name, payload = rng.choice([it for it in GOLDEN if it[0] in TYPES[kind]] or GOLDEN)
            record = self._record(kind, name, self._damage(payload) if rng.random() < 0.7 else payload)
        elif way < 0.35:
            record = self._record(kind, rng.choice(TYPES[kind]), rng.randbytes(rng.choice((0, 1, 30, 1000))))
        elif way < 0.4:
            name = rng.choice((*event_classes(), "1", "2", "3", "4", "5", "6", "Nonsense", "\x1b[2J", "x" * 300))
            message = descriptor_of(event_classes()[name]) if name in event_classes() else None
            record = self._record(kind, name, self.message(message) if message else b"")
        elif kind == "event":
            name = rng.choice(TYPES[kind])
            record = self._record(kind, name, self._json(name))
        else:
            name = rng.choice(TYPES[kind])
            record = self._record(kind, name, self.message(descriptor_of(event_classes()[name])))
        times = (0, -1, 1, 2**63 - 1, -(2**63), self.known.now_ns + 3650 * DAY_NS, self.known.now_ns - 3650 * DAY_NS)
        return Made(kind, record, rng.choice(times) if rng.random() < 0.03 else None)

    # Records.

    def _record(self, kind: str, name: str, payload: bytes) -> NewRecord:
        return self._new(payload[: RECORD_BYTES_MAX - 400_000], self._headers(kind, name))

    def _new(self, payload: bytes, block: bytes) -> NewRecord:
        headers = Block()
        headers.block = block
        key = self.rng.choice(("", "", "", "k", f"key {self.number}", "x" * 5000)) if self.rng.random() < 0.1 else ""
        record = object.__new__(NewRecord)  # unchecked
        for name, value in {"unknown": b"", "payload": payload, "headers": headers, "key": key}.items():
            getattr(NewRecord, name).__set__(record, value)
        return record

    def _damaged(self, record: Record) -> NewRecord:
        """A real one, as it is or damaged, in its payload or its headers."""
        payload, block = record.payload, record.header_block
        which = self.rng.random()
        if which < 0.5:
            payload = self._damage(payload)
        elif which < 0.7:
            block = self._damage(block)
        elif which < 0.85:
            block += f"\0repeats\0{self._repeats()}".encode()
        return self._new(payload[: RECORD_BYTES_MAX - 400_000], block[:300_000])

    def _forged(self, kind: str, record: Record) -> NewRecord:
        """A real one of which some fields say something else: of a field that comes twice the last holds."""
        name = record.header("type")
        fields = list(descriptor_of(event_classes()[name]).fields) if name in event_classes() else []
        changed = [self._field(one, 0) for one in self.rng.sample(fields, min(len(fields), self.rng.randrange(4)))]
        return self._record(kind, name, b"".join((record.payload, *changed)))

    def _damage(self, data: bytes) -> bytes:
        """Bits flipped, cut off, cut out, doubled, or something put in."""
        rng, left = self.rng, bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(left) + 1)
            match rng.randrange(6):
                case 0 if at < len(left):
                    left[at] ^= 1 << rng.randrange(8)
                case 1:
                    del left[at:]
                case 2:
                    del left[at : at + rng.choice((1, 4, 40))]
                case 3:
                    left[at:at] = rng.randbytes(rng.choice((1, 4, 40)))
                case 4:
                    left[at:at] = left[:at][-200:]
                case _:
                    left[at : at + 8] = rng.choice(TEXTS)
        return bytes(left)

    def _headers(self, kind: str, name: str) -> bytes:
        rng, known = self.rng, self.known
        subscriber = self._plain("subscriber").decode()
        pairs: list[tuple[str, Any]] = [
            ("type", name),
            ("version", rng.choice(VERSIONS) if rng.random() < 0.1 else "1.2"),
            ("id", f"rogue/{self.number}"),
            ("time_ns", str(known.now_ns)),
            ("producer", f"{subscriber}/{known.instances.get(subscriber, 'x')}"),
        ]
        if kind == "package":
            pairs += [("publisher", self._plain("publisher").decode())] * (rng.random() < 0.8)
            pairs += [("recipients", subscriber)] * (rng.random() < 0.1)
        if rng.random() < 0.15:
            pairs.append(("repeats", self._repeats()))
        if rng.random() < 0.1:
            pairs.append(("signature", self._signature()))
        if rng.random() < self.danger * 0.3:
            place = rng.randrange(len(pairs))
            pairs[place] = (pairs[place][0], self._bad_text()[:300_000])
        if rng.random() < self.danger * 0.2:
            name = rng.choice(("recipients", "cause", "traceparent", "kind", "type", ""))
            pairs.append((name, self._bad_text()[:300_000]))
        if rng.random() < self.danger * 0.1:
            pairs += [(f"h{n}", "x") for n in range(rng.choice((10, 5000)))]
        flat = [part if isinstance(part, bytes) else part.encode() for pair in pairs for part in pair]
        block = b"\0".join(flat)  # a NUL within moves all that follows
        return self._damage(block) if rng.random() < 0.03 else block

    def _repeats(self) -> str:
        rng, end = self.rng, max(self.known.end, 2)
        if rng.random() < 0.5:
            offset = rng.randrange(end)
            return f"{offset} {self.known.now_ns - rng.choice((0, 10**9, 30 * DAY_NS))} {offset + 1}"
        return rng.choice(("0 0 1", "-1 0 1", f"0 {2**63} 1", f"{2**62} 0 {2**63}", "9" * 19 + " 0 " + "9" * 19, "",
                           "x y z", "0 -1 1", f"0 {10**19 - 1} 1", "1 1 1"))  # fmt: skip

    def _signature(self) -> str:
        rng, known = self.rng, self.known
        mac = f"{rng.getrandbits(256):064x}"
        plain = f"{rng.choice(('ops', 'other'))} {known.now_ns} {known.end} {mac}"
        late = f"ops {'9' * 19} {'9' * 19} {mac}"
        return rng.choice((plain, plain, late, f"ops -1 0 {mac}", "ops", f"ops 0 0 {mac}\n"))

    # Messages.

    def message(self, message: Descriptor, depth: int = 0) -> bytes:
        """Its fields, in their order or not, as the danger has it."""
        rng = self.rng
        fields = list(message.fields)
        if message.name == "CommandMessage":  # usually with one order
            orders = [one for one in fields if one.message_type is not None]
            fields = [one for one in fields if one not in orders] + rng.sample(orders, rng.choice((0, 1, 1, 1, 1, 2)))
        if rng.random() < self.danger:
            rng.shuffle(fields)
        parts = []
        for one in fields:
            if rng.random() < self.danger * 0.1:
                continue  # missing
            parts.append(self._field(one, depth))
            if rng.random() < self.danger * 0.05:
                parts.append(self._field(one, depth))  # twice
        if rng.random() < self.danger * 0.3:
            parts.append(_tag(rng.choice((15, 31, 99, 2**29 - 1)), 2) + _bytes(self._bad_text()))
        return b"".join(parts)

    def _field(self, one: FieldDescriptor, depth: int) -> bytes:
        rng = self.rng
        if rng.random() < self.danger * 0.05:  # of another type
            return _tag(one.number, rng.choice((0, 1, 2, 5))) + rng.randbytes(rng.choice((1, 4, 8)))
        times = 1
        if one.is_repeated:
            times = rng.choice((0, 1, 1, 2, 5))
            if rng.random() < self.danger * 0.02:
                times = 2000
            if self.huge and depth == 0 and rng.random() < 0.2:
                times = 100_000
        if times < 100:
            return b"".join(self._one(one, depth) for _ in range(times))
        same = self._one(one, depth)
        return same * min(times, max(MEGABYTE // len(same), 1))

    def _one(self, one: FieldDescriptor, depth: int) -> bytes:
        if one.message_type is not None:
            inner = b"" if depth > 3 else self.message(one.message_type, depth + 1)
            return _tag(one.number, 2) + _bytes(inner)
        if one.type in (one.TYPE_STRING, one.TYPE_BYTES):
            return _tag(one.number, 2) + _bytes(self._text(one.name, one.containing_type.name))
        return _tag(one.number, 0) + _varint(self._whole(one))

    def _text(self, name: str, of: str) -> bytes:
        return self._bad_text() if self.rng.random() < self.danger else self._plain(name, of)

    def _bad_text(self) -> bytes:
        if self.huge and self.rng.random() < 0.3:
            return b"x" * MEGABYTE
        return self.rng.choice(TEXTS)

    def _plain(self, name: str, of: str = "") -> bytes:
        """What such a field might say."""
        rng, known = self.rng, self.known
        names = known.names or ("edge",)
        match name:
            case "subscriber" | "recipients" | "golden":
                it = rng.choice(names) if rng.random() < 0.9 else f"ghost-{rng.randrange(100)}"
            case "subscriber_instance" | "publisher_instance":
                it = rng.choice((*known.instances.values(), "", "f" * 32))
            case "publisher" | "follows":
                it = rng.choice((*known.publishers, "site", "", "rogue"))
            case "package_id" | "request_id" | "command_id" | "head_package":
                it = f"{name}-{rng.randrange(2000)}"
            case "log_id":
                it = rng.choice((known.log_id, known.log_id, "", "0" * 32))
            case "paths" | "deep_paths" | "include" | "exclude":
                it = rng.choice(("/", "/a.txt", "/a", "/good", "/b/c/d", f"/n/{rng.randrange(500)}", "/*"))
            case "place":
                it = rng.choice((*known.places.values(), ""))
            case "format":
                it = rng.choice(("callboard", "callboard", "callboard", "sling"))
            case "content":
                return rng.choice(known.contents or [b""])
            case "content_ref" | "content_digest" | "blobs" | "listing_ref":
                it = "" if rng.random() < 0.7 else f"{rng.getrandbits(256):064x}"
            case "topic":
                it = f"callboard.{rng.choice(KINDS)}"
            case "name":
                it = rng.choice(("a", "b", "author"))
            case "on_give_up":
                it = rng.choice(("skip", "block", "quarantine"))
            case "key_id":
                it = rng.choice(("", "ops", "other"))
            case "signature":
                return rng.choice((b"", rng.randbytes(32)))
            case _:
                it = rng.choice(("", name, "because"))
        return it.encode()

    def _whole(self, one: FieldDescriptor) -> int:
        rng, known, name = self.rng, self.known, one.name
        if rng.random() < self.danger:
            return rng.choice(WHOLE)
        if one.enum_type is not None:
            return int(rng.choice(one.enum_type.values).number)
        if one.type == one.TYPE_BOOL:
            return rng.randrange(2)
        if name.endswith("_ns"):
            return known.now_ns + rng.choice((0, 0, -(10**9), 10**9, 3650 * DAY_NS, -3650 * DAY_NS))
        if name == "sequence":
            return rng.choice((1, 5, 1000, 2**62, 2**63 - 1))
        if name == "announce_interval_ms":
            return rng.choice((10_000, 500, 0, 300_000, 2**31, 2**62))
        if name.endswith("offset") or name in ("next", "position", "left"):
            return max(0, known.end + rng.choice((-1, 0, 1, 5, 100, -100, -known.end, 2**40, 2**62)))
        if name == "packages_per_min":
            return rng.choice((0, 1, 6000))
        return rng.choice((0, 0, 1, 3, 100))

    # Events.

    def _json(self, name: str) -> bytes:
        rng = self.rng
        if rng.random() < self.danger * 0.2:
            return rng.choice((b"[" * 50_000, b'{"a":' * 50_000, b"null", b"[]", b'"x"', b"{}", b"1e999", b"NaN", b"",
                               b'{"offset": NaN}',
                               b"\xef\xbb\xbf{}", b"{" + b'"a":1,' * 20_000 + b'"b":2}'))  # fmt: skip
        if name == MARKS:
            kinds = ("created", "queued", "distributed", "imported", "failed", "rogue")
            it = {
                "type": "marks", "pubAgentName": self._json_value("publisher"),
                "marks": {kind: {"logId": self._json_value("log_id"), "offset": self._json_value("offset")}
                          for kind in rng.sample(kinds, rng.randrange(7))},
            }  # fmt: skip
        else:
            it = {
                "type": rng.choice(("distributed", "imported", "failed", "created", "queued", "rogue")),
                "pubAgentName": self._json_value("publisher"), "packageId": self._json_value("package_id"),
                "offset": self._json_value("offset"), "paths": [self._json_value("paths")] * rng.choice((0, 1, 3)),
                "deepPaths": rng.choice((None, [], ["/"], "x")), "dedupKey": self._json_value("command_id"),
                "logId": self._json_value("log_id"), "timeNs": self._json_value("offset"),
                "subAgentName": self._json_value("subscriber"), "attempts": self._json_value("offset"),
                "morePaths": self._json_value("offset"), "length": self._json_value("offset"),
            }  # fmt: skip
        data = json.dumps(it).encode()
        return self._damage(data) if rng.random() < self.danger * 0.3 else data

    def _json_value(self, name: str) -> Any:
        rng = self.rng
        if rng.random() < self.danger:
            return rng.choice((None, True, [], {}, -1, 2**63 - 1, 2**63, 10**300, 1.5, "\ud800", "\0", "x" * 1000))
        if name == "offset":
            return max(0, self.known.end + rng.choice((-1, 0, 1, 100, -self.known.end, 2**40, 2**62)))
        return self._plain(name).decode()


def packed(headers: Any) -> bytes:
    """What ``pack_headers`` makes of headers, and what an attacker writes without it."""
    return headers.block if isinstance(headers, Block) else pack_headers(headers)


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _bytes(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
