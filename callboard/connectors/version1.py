"""The messages of version 1 of the protocol, that of Apache Sling's connectors, to migrate from it.

It is weaker than version 2: one secret lets all who have it speak as each other, and a withdrawal can be repeated.
"""

import gzip
import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from callboard.connectors.envelope import inflated
from callboard.errors import Undecodable
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.topology.connector_limits import PATH_MAX
from callboard.messages.topology.connector_messages import AnnouncedCluster, AnnouncedInstance
from callboard.messages.topology.limits import NAME, PROPERTIES_BYTES_MAX, PROPERTIES_MAX, VALUE_BYTES_MAX, demand

HASH, TRUST = "x-slingtopologyhash", "x-slingtopologytrust"
VERSION = 1
LOG_ID = "version-1"
"""These clusters have no log, and no epochs."""

SALT_BYTES, IV_BYTES, AES_BYTES, ROUNDS = 9, 16, 16, 10_000
_BLOCK_BITS = 128


class SharedSecret:
    """Seals and opens bodies. Its keys change by the clock, every ``key_ms``; the former and the next are accepted."""

    def __init__(self, secret: bytes, key_ms: int, random_bytes: Callable[[int], bytes]) -> None:
        self._secret, self._key_ms, self._random_bytes = secret, key_ms, random_bytes

    def sealed(self, direction: str, path: str, text: str | None, now_ms: int) -> tuple[bytes, dict[str, str]]:
        """The body with this text, and its headers; None is the lack of a body."""
        body = b""
        if text is not None:
            salt, iv, padder = self._random_bytes(SALT_BYTES), self._random_bytes(IV_BYTES), PKCS7(_BLOCK_BITS).padder()
            encryptor = self._cipher(salt, iv).encryptor()
            secret = encryptor.update(padder.update(text.encode()) + padder.finalize()) + encryptor.finalize()
            body = json.dumps({"payload": [b64encode(each).decode() for each in (salt, iv, secret)]}).encode()
        hashed, number = _hash(direction, path, body), now_ms // self._key_ms
        return body, {HASH: hashed, TRUST: f"{number}/{self._mac(number, hashed)}"}

    def opened(self, direction: str, path: str, headers: Mapping[str, str], body: bytes, now_ms: int) -> str:
        """The text in a body; empty if it has none. Raises ``Undecodable`` if it is not authentic."""
        if "gzip" in headers.get("content-encoding", ""):
            body = inflated(body, gzipped=True)
        number, _, mac = headers.get(TRUST, "").partition("/")
        hashed, now = _hash(direction, path, body), now_ms // self._key_ms
        demand(number in {str(now - 1), str(now), str(now + 1)}, "its key is of another time; set the clocks")
        is_authentic = hmac.compare_digest(mac.encode(), self._mac(int(number), hashed).encode())
        demand(is_authentic and headers.get(HASH) == hashed, "it was altered, or the secret is another one there")
        return self._decrypted(body) if body else ""

    def _decrypted(self, body: bytes) -> str:
        try:
            salt, iv, secret = (b64decode(each, validate=True) for each in json.loads(body)["payload"])
            decryptor, unpadder = self._cipher(salt, iv).decryptor(), PKCS7(_BLOCK_BITS).unpadder()
            padded = decryptor.update(secret) + decryptor.finalize()
            return (unpadder.update(padded) + unpadder.finalize()).decode()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise Undecodable("it is not encrypted with the shared secret") from error

    def _cipher(self, salt: bytes, iv: bytes) -> Cipher[CBC]:
        return Cipher(AES(hashlib.pbkdf2_hmac("sha256", self._secret, salt, ROUNDS, AES_BYTES)), CBC(iv))

    def _mac(self, number: int, hashed: str) -> str:
        key = b64encode(hashlib.sha256(self._secret + str(number).encode()).digest())
        return b64encode(hmac.digest(key, hashed.encode(), "sha256")).decode()


def _hash(direction: str, path: str, body: bytes) -> str:
    text = f"{direction}:{path}:".encode() + (body or b"null")
    return b64encode(hashlib.sha256(text).digest()).decode()


def zipped(body: bytes) -> bytes:
    """The body for ``Content-Encoding: gzip``."""
    return gzip.compress(body, mtime=0)


@dataclass(frozen=True, slots=True)
class Told:
    """An announcement. ``clusters`` are the sender's own and those that it knows, each once; none if it is a loop."""

    owner: str
    protocol: int
    created_ms: int
    is_loop: bool
    clusters: tuple[AnnouncedCluster, ...]


def written(me: str, clusters: tuple[AnnouncedCluster, ...], now_ms: int, **more: Any) -> str:
    """The text of an announcement by ``me`` of its own cluster, the first, and of others; of none if it is a loop."""
    own, *others = [_tree(each.path[0], now_ms, each) for each in clusters] or [_tree(me, now_ms)]
    return json.dumps({**own, **more, "ownerId": me, "topologyAnnouncements": others})


def _tree(owner: str, now_ms: int, cluster: AnnouncedCluster | None = None) -> dict[str, Any]:
    head = {"ownerId": owner, "protocolVersion": VERSION, "created": now_ms, "inherited": False}
    if cluster is None:
        return head
    instances = [
        {"slingId": each.instance, "isLeader": each.is_leader, "cluster": cluster.cluster_id,
         "properties": dict(each.properties)}
        for each in cluster.instances
    ]  # fmt: skip
    return head | {"localClusterView": {"id": cluster.cluster_id, "instances": instances}, "topologyAnnouncements": []}


def read(text: str, me: str) -> Told:
    """The announcement, without what came from ``me``, and what is told twice. Raises ``Undecodable``."""
    try:
        tree = json.loads(text)
        is_loop = tree.get("loop") is True
        told, seen = list[AnnouncedCluster](), set[str]()
        for cluster in () if is_loop else _clusters(tree, ()):
            instances = {each.instance for each in cluster.instances}
            if me not in cluster.path and seen.isdisjoint({cluster.cluster_id + "\0", *instances}):
                seen |= {cluster.cluster_id + "\0", *instances}
                told.append(cluster)
        created_ms = tree["created"] if type(tree.get("created")) is int else 0
        return Told(_text(tree["ownerId"]), tree.get("protocolVersion", 0), created_ms, is_loop, tuple(told))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Undecodable(f"it is no announcement of version 1: {type(error).__name__}") from error


def _clusters(tree: dict[str, Any], passed_on: tuple[str, ...]) -> Iterator[AnnouncedCluster]:
    path = (_text(tree["ownerId"]), *passed_on)
    demand(len(path) <= PATH_MAX, f"announcements are nested more than {PATH_MAX} deep")
    if "localClusterView" in tree:
        view = tree["localClusterView"]
        yield AnnouncedCluster(
            cluster_id=_text(view["id"]), log_id=LOG_ID, epoch=0, leader_epoch=0, settled=True,
            instances=tuple(map(_instance, view["instances"])), path=path,
        )  # fmt: skip
    for inner in tree.get("topologyAnnouncements", ()):
        yield from _clusters(inner, path)


def _instance(given: dict[str, Any]) -> AnnouncedInstance:
    return AnnouncedInstance(
        instance=_text(given["slingId"]), incarnation="1", is_leader=given["isLeader"] is True,
        properties=_properties(given.get("properties", {})),
    )  # fmt: skip


def _properties(given: dict[str, Any]) -> Pairs:
    """The properties that have room, and names and values as in callboard; the others are left out."""
    kept, room = list[tuple[str, str]](), PROPERTIES_BYTES_MAX
    for name, value in sorted(given.items()):
        size = len(_text(value).encode())
        if NAME.fullmatch(name) and size <= VALUE_BYTES_MAX and "\0" not in value and len(kept) < PROPERTIES_MAX:
            room -= len(name) + size
            if room >= 0:
                kept.append((name, value))
    return tuple(kept)


def _text(value: Any) -> str:
    demand(isinstance(value, str), f"it has {value!r:.40} instead of a text")
    return str(value)
