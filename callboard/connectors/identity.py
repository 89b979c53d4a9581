"""Who this process is to others: it seals what it sends, and opens what it gets."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

from callboard.connectors.envelope import NONCE_BYTES, PROTOCOL, Opened, Route, opened, sealed
from callboard.connectors.keys import ConnectorKey, KeyRing
from callboard.errors import ConfigError, Undecodable
from callboard.messages.codec import decode
from callboard.messages.topology.connector_messages import Announcement, Envelope
from callboard.messages.topology.limits import demand

MS_NS = 1_000_000

REFUSED_MAX = 100
"""More than there are own requests under way. Strangers can send as many, and so hide one of these."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was sent: its route, envelope and key, which the answer must match, and the keys at that time."""

    route: Route
    envelope: Envelope
    key: ConnectorKey | None
    ring: KeyRing
    body: bytes


class Identity:
    """The instance ``me``. Its ``address`` names also this run of the process: what was sent to an earlier run does not
    count again.
    """

    def __init__(
        self, me: str, keys: Iterable[ConnectorKey], clock: Callable[[], int], random_bytes: Callable[[int], bytes]
    ) -> None:
        self.me = me
        self.address = f"{me}:{random_bytes(16).hex()}"
        self.ring = KeyRing(keys)
        self.refused: deque[bytes] = deque(maxlen=REFUSED_MAX)
        """The nonces of the last requests that were not opened: one of them may be this process's own."""
        self._clock, self._random_bytes, self._counter = clock, random_bytes, 0

    def use(self, keys: Iterable[ConnectorKey]) -> None:
        """Use other keys from now on. Raises ``ConfigError`` if there are none, or had been none."""
        ring = KeyRing(keys)
        if bool(ring.by_id) != bool(self.ring.by_id):
            raise ConfigError("keys can only be changed for others; to begin or end to use keys, restart")
        self.ring = ring

    def now_ms(self) -> int:
        """The time, in milliseconds since 1970."""
        return self._clock() // MS_NS

    def ask(self, key: ConnectorKey | None, method: str, path: str, receiver: str, said: Announcement) -> Asked:
        """A request to ``receiver``, an address, or empty if it is not known yet. Raises as ``sealed``."""
        self._counter = max(self._counter + 1, self._clock())
        route = Route("request", method, path)
        envelope = self._envelope(self.me, receiver, self._counter)
        return Asked(route, envelope, key, self.ring, sealed(key, route, envelope, said))

    def asked(self, method: str, path: str, body: bytes, certified: Collection[str] | None) -> Opened:
        """Open a request, as ``opened``."""
        try:
            return opened(self.ring, Route("request", method, path), body, certified)
        except Undecodable:
            with suppress(Undecodable):
                if len(nonce := decode(Envelope, body).nonce) == NONCE_BYTES:
                    self.refused.append(nonce)
            raise

    def answer(self, method: str, path: str, request: Opened, announcement: Announcement) -> bytes:
        """The answer to a request, sealed with its key. Raises as ``sealed``."""
        asked = request.envelope
        envelope = self._envelope(self.address, asked.sender, asked.counter)
        return sealed(request.key, Route("answer", method, path, asked.nonce), envelope, announcement)

    def answered(self, asked: Asked, body: bytes, certified: Collection[str] | None) -> Opened:
        """Open the answer. Raises ``Undecodable`` unless it is the authentic answer to this."""
        route = Route("answer", asked.route.method, asked.route.path, asked.envelope.nonce)
        answer = opened(asked.ring, route, body, certified)
        its = answer.envelope
        demand(answer.key == asked.key, "the answer is sealed with another key")
        demand(its.protocol == PROTOCOL, f"the answer is in protocol {its.protocol}, and here it is {PROTOCOL}")
        demand((its.receiver, its.counter) == (self.me, asked.envelope.counter), "the answer is to another request")
        demand(":" in its.sender, "the answer does not say whose it is")
        return answer

    def _envelope(self, sender: str, receiver: str, counter: int) -> Envelope:
        return Envelope(
            protocol=PROTOCOL, key_id="", sender=sender, receiver=receiver, sent_ms=self.now_ms(), counter=counter,
            nonce=self._random_bytes(NONCE_BYTES), sealed=b"",
        )  # fmt: skip
