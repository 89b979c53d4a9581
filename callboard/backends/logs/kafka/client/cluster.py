"""Finds the leader of a topic and sends it requests, retrying when the leader has changed."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from callboard.backends.logs.kafka.address import Address
from callboard.backends.logs.kafka.client.connections import Connections
from callboard.backends.logs.kafka.client.failure import STALE, UNKNOWN_TOPIC, described, refused, replaced
from callboard.backends.logs.kafka.client.protocol import MetadataRequest
from callboard.backends.logs.limits import closed, is_topic_name, missing
from callboard.errors import LogError, LogUnavailable, TopicMissing
from callboard.logger import get_logger

RETRY_FIRST_S = 0.02
RETRY_MAX_S = 1.0

IDENTITY_S = 1.0
"""How long a known identity is reused. Reads need no fresher one: their requests carry the topic's id."""


class Attempts:
    """Increasing pauses between attempts.

    Args:
        timeout_ms: when to give up.
    """

    def __init__(self, timeout_ms: int) -> None:
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        self._pause_s = RETRY_FIRST_S

    async def pause(self, reason: LogError) -> None:
        """Wait before the next attempt; raises ``reason`` when there is no time left for one."""
        if asyncio.get_running_loop().time() + self._pause_s > self._deadline:
            raise reason
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(RETRY_MAX_S, self._pause_s * 2)


class Topic(NamedTuple):
    """A topic as described by a broker. A re-created topic has another ``id``."""

    name: str
    id: bytes
    identity: str
    leader: int
    partitions: int


class Cluster:
    """The brokers and topics behind an address.

    Calls retry for the address' request timeout, then raise ``LogUnavailable`` with the last reason.
    """

    def __init__(self, address: Address) -> None:
        self.timeout_ms = address.request_timeout_ms
        self._connections = Connections(address)
        self._topics: dict[str, Topic] = {}
        self._leaders: dict[str, int] = {}
        self._identified: dict[str, float] = {}
        self._controller = -1
        self._closed = False

    async def find(self, name: str) -> Topic:
        """The topic, from memory if it was found before. Raises ``TopicMissing``."""
        if name in self._topics and not self._closed:
            return self._topics[name]
        attempts = Attempts(self.timeout_ms)
        while not self._closed:
            try:
                return await self._look_up(name)
            except TopicMissing as error:
                if name not in self._leaders:  # a broker that just started may not know an existing topic yet
                    raise
                await attempts.pause(error)
            except LogUnavailable as error:
                await attempts.pause(error)
        raise closed()

    async def identity(self, name: str) -> str:
        """The topic's identity, at most ``IDENTITY_S`` old. Raises ``TopicMissing``."""
        now = asyncio.get_running_loop().time()
        if now > self._identified.get(name, -IDENTITY_S) + IDENTITY_S:
            self._identified[name] = now
            self.forget(name)
        return (await self.find(name)).identity

    async def ask(self, topic: Topic, request: Any, purpose: str, error_at: int = 1) -> tuple[Any, ...]:
        """The leader's answer about partition 0 of a topic that was found before.

        Args:
            topic: the incarnation to ask about.
            request: one of aiokafka's or of ``protocol.py``.
            purpose: see ``Connections``.
            error_at: where in the answer the error code is. The caller handles codes that are not in ``STALE``.

        Raises:
            LogReplaced: the topic was re-created.
            TopicMissing: it no longer exists.
        """
        attempts = Attempts(self.timeout_ms)
        while not self._closed:
            try:
                now = await self.find(topic.name)
                if now.id != topic.id:
                    raise replaced(topic.name)
                answer = await self._connections.ask(now.leader, purpose, request)
                if not answer.topics:  # a fetch that failed as a whole
                    raise refused(answer.error, topic.name)
                found: tuple[Any, ...] = answer.topics[0][1][0]
                if found[error_at] not in STALE:
                    return found
                reason = LogUnavailable(f"Kafka cannot serve topic {topic.name!r} ({described(found[error_at])})")
            except LogUnavailable as error:
                reason = error
            self.forget(topic.name)
            await attempts.pause(reason)
        raise closed()

    async def ask_any(self, request: Any, error_of: Callable[[Any], int]) -> Any:
        """The answer of any broker; ``error_of`` extracts its error code, since some are retried."""
        attempts = Attempts(self.timeout_ms)
        while not self._closed:
            try:
                answer = await self._connections.ask_any(request)
                if (code := error_of(answer)) not in STALE or code == UNKNOWN_TOPIC:
                    return answer
                reason = LogUnavailable(f"Kafka cannot answer yet ({described(code)})")
            except LogUnavailable as error:
                reason = error
            await attempts.pause(reason)
        raise closed()

    async def ask_controller(self, request: Any) -> Any:
        """The answer of the controller known from the last ``find``; one attempt."""
        return await self._connections.ask(self._controller, "any", request)

    def forget(self, name: str) -> None:
        """Look the topic up again at its next use."""
        self._topics.pop(name, None)

    async def close(self) -> None:
        """Close the connections."""
        self._closed = True
        await self._connections.close()

    async def _look_up(self, name: str) -> Topic:
        if not is_topic_name(name):
            raise missing(name)
        found = await self._connections.ask_any(MetadataRequest(name))
        self._connections.learn({node: (host, port) for node, host, port, *_ in found.brokers})
        self._controller = found.controller
        error, _, topic_id, _, partitions, *_ = found.topics[0]
        if error == UNKNOWN_TOPIC:
            raise missing(name)
        if error and error not in STALE:
            raise refused(error, name)
        leader = next((leader for _, partition, leader, *_ in partitions if partition == 0), -1)
        if leader < 0:
            raise LogUnavailable(f"Kafka has no leader for topic {name!r}; check that its brokers run")
        if self._leaders.get(name, leader) != leader:
            get_logger().info("leader.changed", topic=name, leader=leader)
        identity = f"{found.cluster_id}/{topic_id.hex()}"
        topic = Topic(name, topic_id, identity, leader, len(partitions))
        self._topics[name], self._leaders[name] = topic, leader
        return topic
