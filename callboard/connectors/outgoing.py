"""Exchanges announcements with the clusters that this one connects to."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx

from callboard.actors.topology.announcements.connector import Connector
from callboard.connectors.http import ANSWER_S, ANSWERED, Answer
from callboard.connectors.identity import Identity
from callboard.connectors.keys import ConnectorKey
from callboard.errors import NotAnswered, RequestRefused, Undecodable
from callboard.escaping import escaped
from callboard.logger import get_logger
from callboard.messages.topology.connector_limits import check_announcement
from callboard.messages.topology.connector_messages import Announcement

CLOCKS_MS_MAX = 5_000
"""How far a neighbour's clock may be away before that is logged."""

FAILURES = httpx.HTTPError, httpx.InvalidURL, OSError, NotAnswered, RequestRefused, Undecodable

MEANINGS = {
    400: "it does not accept the announcement, or speaks another protocol; see its log",
    404: "nothing is there, or it refuses this address or key, or the clocks are too far apart; see its log",
    503: "it is in no cluster at the moment",
}


Call = Callable[[str, str, bytes], Awaitable[Answer]]
"""Sends a request: its method, URL and body."""


class Outgoing:
    """Calls URLs as ``identity``."""

    def __init__(self, identity: Identity, call: Call, monotonic_ms: Callable[[], int]) -> None:
        self._identity, self._call, self._monotonic_ms = identity, call, monotonic_ms
        self._addresses: dict[tuple[str, ConnectorKey | None], str] = {}
        self._told: dict[str, str] = {}
        self.ahead_ms: dict[str, int] = {}
        """How far the clock at a URL was ahead of this process's at the last answer; negative if it was behind."""
        self._log = get_logger(instance=identity.me)

    async def exchange(self, connector: Connector) -> bool:
        """Exchange announcements over the first URL that works; returns whether the answer has news."""
        problems = []
        for url in connector.urls:
            try:
                is_news = await self._exchanged(connector, url)
            except FAILURES as error:
                self._told.pop(url, None)
                problems.append(f"{url}: {escaped(error) or type(error).__name__}")
                continue
            await self.withdraw(connector, but=self._told[url])
            return is_news
        if not connector.problem:
            self._log.warning("connector.failed", problems=problems)
        connector.failed("; ".join(problems), self._monotonic_ms())
        return False

    async def withdraw(self, connector: Connector, but: str = "") -> None:
        """Tell those to whom the connector announced that it will not do so again, ``but`` this address.

        Where that fails, the announcement expires.
        """
        for url in connector.urls:
            address = self._told.get(url, but)
            if address != but:
                del self._told[url]
                try:
                    key = self._identity.ring.in_turn(url)[0]
                    await self._ask(key, "DELETE", url, address, Announcement())
                except FAILURES as error:
                    self._log.info("announcement.left", url=url, reason=escaped(error))

    async def _exchanged(self, connector: Connector, url: str) -> bool:
        ring = self._identity.ring
        for key in ring.in_turn(url):
            is_news = await self._exchanged_with(key, connector, url)
            if is_news is not None:
                ring.worked[url] = key
                return is_news
        raise NotAnswered(f"HTTP 404: {MEANINGS[404]}")

    async def _exchanged_with(self, key: ConnectorKey | None, connector: Connector, url: str) -> bool | None:
        """None if nothing is found there with this key."""
        for _ in range(2):
            address = self._addresses.get((url, key), "")
            said = connector.request(address.partition(":")[0], self._monotonic_ms())
            if said is None:
                raise NotAnswered("this process is in no cluster at the moment, and has nothing to announce")
            if address:
                self._told[url] = address
            answered = await self._ask(key, "PUT", url, address, said)
            if answered is None:
                return None
            is_welcome, sender, answer = answered
            neighbour = sender.partition(":")[0]
            if sender == self._identity.address:
                connector.leave(url)
                raise NotAnswered("it leads back to this process, and is not used again")
            if neighbour == self._identity.me:
                raise NotAnswered("another process there has the id of this one")
            if is_welcome:
                check_announcement(answer, neighbour)
                return connector.answered(url, neighbour, said, answer, self._monotonic_ms())
            self._addresses[url, key] = sender
        raise NotAnswered("another process answers every time")

    async def _ask(
        self, key: ConnectorKey | None, method: str, url: str, address: str, said: Announcement
    ) -> tuple[bool, str, Announcement] | None:
        """Send a request; returns whether it was sent to the one who answered, its address, and the answer.

        None if nothing is found there, as with a key that is not known there. Raises ``NotAnswered`` for another
        status, and ``Undecodable`` for an answer that is not authentic.
        """
        asked = self._identity.ask(key, method, urlsplit(url).path, address, said)
        async with asyncio.timeout(ANSWER_S):
            status, body, names = await self._call(method, url, asked.body)
        if status == 404:
            if asked.envelope.nonce in self._identity.refused:
                raise NotAnswered("it leads back to this process, for which the key does not speak; remove it")
            return None
        if status not in ANSWERED:
            raise NotAnswered(f"HTTP {status}: {MEANINGS.get(status, 'it is no connector')}")
        answer = self._identity.answered(asked, body, names)
        sender = answer.envelope.sender
        self._compare_clocks(url, asked.envelope.sent_ms, answer.envelope.sent_ms)
        if status == 200 and sender != address:
            raise Undecodable("the answer is from another process than was asked")
        return status == 200, sender, answer.announcement

    def _compare_clocks(self, url: str, asked_ms: int, answered_ms: int) -> None:
        """The answer was sent after the request, and before now: it cannot have another time."""
        ahead_ms = max(0, answered_ms - self._identity.now_ms()) + min(0, answered_ms - asked_ms)
        if abs(ahead_ms) > CLOCKS_MS_MAX >= abs(self.ahead_ms.get(url, 0)):
            self._log.warning("clock.differs", url=url, ahead_s=ahead_ms / 1000)
        self.ahead_ms[url] = ahead_ms
