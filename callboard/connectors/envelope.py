"""Seals announcements into envelopes, and opens envelopes: encrypted, authenticated and bound to one exchange."""

import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from struct import pack
from typing import NamedTuple

from cryptography.exceptions import InvalidTag

from callboard.connectors.keys import ConnectorKey, KeyRing
from callboard.errors import RequestRefused, Undecodable
from callboard.messages.codec import decode, encode
from callboard.messages.event import replaced
from callboard.messages.topology.connector_messages import Announcement, Envelope
from callboard.messages.topology.limits import check_name, demand

PROTOCOL = 2
"""The version of the messages. Version 1 is that of Apache Sling's connectors; see ``bridge.py``."""

PACKED_BYTES_MAX = 1 << 20
"""A compressed announcement: thousands of instances with some properties."""

BODY_BYTES_MAX = PACKED_BYTES_MAX + 4096
"""With the fields of the envelope."""

PLAIN_BYTES_MAX = 8 << 20
RATIO_MAX = 100
"""How much larger than compressed an announcement may be."""

RATIO_FREE_BYTES = 64 << 10
"""Below this, the ratio is of no concern."""

NONCE_BYTES = 12

_ADDRESS = re.compile(r"[A-Za-z0-9_.-]{1,100}:[0-9a-f]{32}")


class Route(NamedTuple):
    """What a message belongs to besides its own fields. An answer is bound to the request by the request's nonce."""

    direction: str
    method: str
    path: str
    asked: bytes = b""


@dataclass(frozen=True, slots=True)
class Opened:
    """An envelope that is authentic, and the key that it was sealed with; None for one that is not sealed."""

    envelope: Envelope
    announcement: Announcement
    key: ConnectorKey | None


def sealed(key: ConnectorKey | None, route: Route, envelope: Envelope, announcement: Announcement) -> bytes:
    """The bytes of the envelope with the announcement in it; with a key, all of it encrypted in another envelope.

    Raises ``RequestRefused`` if the sender's own cluster is too large to be announced.
    """
    inner = encode(replaced(envelope, sealed=packed(announcement)))
    if key is None:
        return inner
    outer = Envelope(
        protocol=envelope.protocol, key_id=key.id, sender="", receiver="", sent_ms=0, counter=0, nonce=envelope.nonce,
        sealed=b"",
    )  # fmt: skip
    text = key.cipher(route.direction).encrypt(outer.nonce, inner, _associated(route, outer))
    return encode(replaced(outer, sealed=text))


def opened(ring: KeyRing, route: Route, body: bytes, certified: Collection[str] | None = None) -> Opened:
    """Open an envelope, from one with a certificate for these names; None where certificates do not count.

    Raises ``Undecodable`` if it was not sealed for this route with a key of the ring, by one who may speak as its
    sender. Of another protocol, only the outer envelope is opened.
    """
    demand(len(body) <= BODY_BYTES_MAX, f"it has {len(body)} bytes, and the most is {BODY_BYTES_MAX}")
    envelope = decode(Envelope, body)
    key = ring.by_id.get(envelope.key_id)
    demand(bool(key) == bool(ring.by_id or envelope.key_id), f"its key {envelope.key_id!r:.80} is not known here")
    inner = _decrypted(key, route, envelope) if key else body
    if envelope.protocol != PROTOCOL:
        return Opened(envelope, Announcement(), key)
    envelope = decode(Envelope, inner)
    _check(envelope)
    sender = envelope.sender.partition(":")[0]
    demand(
        ring.believes(key, sender, certified), f"its key or certificate is not that of {sender}; check peers and tls"
    )
    return Opened(envelope, unpacked(envelope.sealed), key)


def _decrypted(key: ConnectorKey, route: Route, outer: Envelope) -> bytes:
    _check_nonce(outer)
    try:
        return key.cipher(route.direction).decrypt(outer.nonce, outer.sealed, _associated(route, outer))
    except InvalidTag as error:
        raise Undecodable(f"it was altered, or the key {key.id!r} is another one there") from error


def packed(announcement: Announcement) -> bytes:
    """The announcement compressed, within the limits; if it is too large, without the farthest clusters."""
    while True:
        data = encode(announcement)
        for level in (6, 0):
            text = zlib.compress(data, level)
            if len(text) <= PACKED_BYTES_MAX and len(data) <= _plain_bytes_max(text):
                return text
        if len(announcement.clusters) == 1:
            raise RequestRefused(
                f"the cluster takes {len(data)} bytes, too many to be announced over connectors; shorten the "
                "properties of its members",
                code="too_large",
            )
        announcement = replaced(announcement, clusters=announcement.clusters[: len(announcement.clusters) // 2])


@lru_cache(maxsize=8)  # most announcements are the neighbour's last one again, and decoding is most of the work
def unpacked(text: bytes) -> Announcement:
    """The announcement. Raises ``Undecodable`` if it is damaged, or out of the limits."""
    return decode(Announcement, inflated(text))


def inflated(text: bytes, *, gzipped: bool = False) -> bytes:
    """What is compressed with zlib, or gzip. Raises ``Undecodable`` if it is damaged, or out of the limits."""
    most = _plain_bytes_max(text)
    inflating = zlib.decompressobj(zlib.MAX_WBITS | (16 if gzipped else 0))
    try:
        data = inflating.decompress(text, most + 1)
    except zlib.error as error:
        raise Undecodable("it is not compressed with zlib") from error
    demand(len(data) <= most, f"{len(text)} bytes inflate to more than {most}")
    demand(inflating.eof and not inflating.unused_data, "it ends too early or too late")
    return data


def _plain_bytes_max(text: bytes) -> int:
    return min(PLAIN_BYTES_MAX, max(RATIO_FREE_BYTES, RATIO_MAX * len(text)))


def _check(envelope: Envelope) -> None:
    """Refuse ids that could do harm where they are logged or compared, before anything else is done with them."""
    check_name("sender", envelope.sender.partition(":")[0])
    for address in (envelope.sender, envelope.receiver):
        demand(":" not in address or bool(_ADDRESS.fullmatch(address)), f"{address!r:.80} is not an address")
    _check_nonce(envelope)
    demand(envelope.sent_ms >= 0 and envelope.counter >= 0, "the time or the counter is negative")


def _check_nonce(envelope: Envelope) -> None:
    demand(len(envelope.nonce) == NONCE_BYTES, f"the nonce has {len(envelope.nonce)} bytes")


def _associated(route: Route, envelope: Envelope) -> bytes:
    """What is authenticated besides the text: each part behind its length."""
    texts = (route.direction, route.method, route.path, envelope.key_id, envelope.sender, envelope.receiver)
    numbers = b"%d %d %d" % (envelope.protocol, envelope.sent_ms, envelope.counter)
    parts = (*(text.encode() for text in texts), numbers, route.asked)
    return b"callboard connector 2\0" + b"".join(pack(">Q", len(part)) + part for part in parts)
