"""Signs records, so that only holders of the key are trusted on the board, not everyone who can write to its log.

A signature is the last header of a record: the key's name, when it was made, where the topic ended then, and an
HMAC-SHA-256 of these, the topic with its incarnation, all other headers and the payload. So it is worthless on
another topic, board or log, and it expires.
"""

import hmac
import re
from dataclasses import dataclass, field
from struct import pack
from typing import NamedTuple

from callboard.errors import ConfigError
from callboard.messages.event import replaced
from callboard.messages.record import NewRecord, Record, pack_headers

SECRET_BYTES_MIN = 16
"""A shorter secret could be found by brute force; 128 bits are out of reach."""

DOMAIN = b"callboard record 1\0"
"""Domain separation: any other use of the same secret begins differently."""

KEY_DOMAIN = b"callboard record key 1\0"

HEADER = "signature"
_MARK = b"\0signature\0"
_VALUE = re.compile(rb"(?a:([A-Za-z0-9][A-Za-z0-9._-]{0,63}) ([0-9]{1,19}) ([0-9]{1,19}) ([0-9a-f]{64}))")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def is_key_name(text: object) -> bool:
    """Whether this is a valid name of a key."""
    return isinstance(text, str) and bool(_NAME.fullmatch(text))


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret shared by all who write to a board, and its name.

    Raises ``ConfigError`` for an invalid name or a secret that is too short.
    """

    id: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not is_key_name(self.id):
            raise ConfigError(
                "a key needs a name of letters, digits, '.', '_' and '-', 64 at most; write it as NAME=FILE"
            )
        if not isinstance(self.secret, bytes):
            raise ConfigError(f"the secret of key {self.id!r} is a {type(self.secret).__name__}, but should be bytes")
        if len(self.secret) < SECRET_BYTES_MIN:
            raise ConfigError(
                f"key {self.id!r} has {len(self.secret)} bytes, and needs at least {SECRET_BYTES_MIN}; make one with: "
                "openssl rand -hex 32"
            )


class Place(NamedTuple):
    """Where a record belongs: a topic, in one of its incarnations."""

    topic: str
    identity: str


class Signature(NamedTuple):
    """A parsed signature header. ``end`` is where the topic ended when it was signed."""

    key_id: str
    signed_ns: int
    end: int
    mac: bytes


def signed(record: NewRecord, key: SigningKey, place: Place, signed_ns: int, end: int) -> NewRecord:
    """The record with the key's signature in place of any other.

    Its own key is replaced by one that cannot be guessed, or an attacker could append something under it first.
    """
    headers = tuple(pair for pair in record.headers if pair[0] != HEADER)
    mac = _mac(key, place, signed_ns, end, pack_headers(headers), record.payload)
    named = _joined(KEY_DOMAIN, place.topic.encode(), place.identity.encode(), record.key.encode())
    sealed = hmac.digest(key.secret, named, "sha256").hex() if record.key else ""
    header = HEADER, f"{key.id} {signed_ns} {end} {mac.hex()}"
    return replaced(record, headers=(*headers, header), key=sealed)


def unsigned(record: Record) -> tuple[Record, Signature | None, bool]:
    """The record without its signature, the signature (None if missing or malformed), and whether there is one."""
    before, mark, value = (b"\0" + record.header_block).rpartition(_MARK)
    if not mark or b"\0" in value:
        return record, None, False
    bare = replaced(record, header_block=before[1:])
    found = _VALUE.fullmatch(value)
    if found is None:
        return bare, None, True
    key_id, signed_ns, end, mac = found.groups()
    return bare, Signature(key_id.decode(), int(signed_ns), int(end), bytes.fromhex(mac.decode())), True


def is_genuine(bare: Record, signature: Signature, key: SigningKey, place: Place) -> bool:
    """Whether the signature was made with this key for this record, here."""
    expected = _mac(key, place, signature.signed_ns, signature.end, bare.header_block, bare.payload)
    return hmac.compare_digest(signature.mac, expected)


def _mac(key: SigningKey, place: Place, signed_ns: int, end: int, header_block: bytes, payload: bytes) -> bytes:
    topic, identity, numbers = place.topic.encode(), place.identity.encode(), b"%d %d" % (signed_ns, end)
    text = _joined(DOMAIN, topic, identity, key.id.encode(), numbers, header_block, payload)
    return hmac.digest(key.secret, text, "sha256")


def _joined(domain: bytes, *parts: bytes) -> bytes:
    """The parts, each behind its length, so that no two lists of parts of a domain give the same bytes."""
    return b"".join((domain, pack(f">{len(parts)}Q", *map(len, parts)), *parts))
