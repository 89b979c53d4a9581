"""Connections to the brokers."""

import asyncio
from typing import Any

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import KafkaError

from callboard.backends.echo import masked
from callboard.backends.logs.kafka.address import Address
from callboard.backends.logs.kafka.client.failure import unreachable
from callboard.backends.logs.limits import closed
from callboard.errors import LogUnavailable
from callboard.logger import get_logger

IDLE_MS = 300_000
"""A connection without traffic is closed after this, before brokers do it (10 minutes)."""

CLOSE_S = 1.0
"""How long to wait for brokers to accept the last bytes sent, or to end TLS."""


class Connections:
    """One connection for each broker and purpose, opened on demand.

    A broker answers the requests of a connection in order, so requests that may wait at the broker use a connection,
    and hence a purpose, of their own. Raises ``LogUnavailable`` and ``ConfigError``.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._brokers: dict[int, tuple[str, int]] = {}
        self._open: dict[tuple[str, int, str], AIOKafkaConnection] = {}
        self._making: dict[tuple[str, int, str], asyncio.Lock] = {}
        self._turn = 0
        self._closed = False

    def learn(self, brokers: dict[int, tuple[str, int]]) -> None:
        """Set the current brokers, by id."""
        self._brokers = brokers

    async def ask(self, node: int, purpose: str, request: Any) -> Any:
        """A broker's answer."""
        if node not in self._brokers:
            raise LogUnavailable(f"Kafka's broker {node} is unknown now; the call is retried")
        return await self._ask(*self._brokers[node], purpose, request)

    async def ask_any(self, request: Any) -> Any:
        """The answer of any reachable broker, starting with another one at each call."""
        servers = list(dict.fromkeys([*self._brokers.values(), *self._address.servers]))
        self._turn += 1
        for number in range(len(servers)):
            host, port = servers[(self._turn + number) % len(servers)]
            try:
                return await self._ask(host, port, "any", request)
            except LogUnavailable:
                if number == len(servers) - 1:
                    raise
        raise AssertionError("an address has at least one server")

    async def close(self) -> None:
        """Close all connections; requests under way fail."""
        self._closed = True
        for made in list(self._making.values()):
            async with made:
                pass  # one that was just being made is in the dictionary now
        if self._open:
            await asyncio.wait([connection.close() for connection in self._open.values()], timeout=CLOSE_S)
        self._open.clear()

    async def _ask(self, host: str, port: int, purpose: str, request: Any) -> Any:
        key = (host, port, purpose)
        try:
            connection = await self._connection(key)
            return await connection.send(request)
        except (KafkaError, OSError, EOFError, NotImplementedError) as error:
            if self._closed:
                raise closed() from error
            said = masked(repr(error), password=self._address.security.get("sasl_plain_password", ""))
            self._drop(key, said)
            told = unreachable(error, host, port, self._address.security["security_protocol"], said)
            raise told from (error if said == repr(error) else None)

    async def _connection(self, key: tuple[str, int, str]) -> AIOKafkaConnection:
        host, port, _ = key
        async with self._making.setdefault(key, asyncio.Lock()):
            if self._closed:
                raise closed()
            if key not in self._open or not self._open[key].connected():
                self._open[key] = await create_conn(
                    host, port, client_id=self._address.client_id, max_idle_ms=IDLE_MS,
                    request_timeout_ms=self._address.request_timeout_ms, **self._address.security,
                )  # fmt: skip
            return self._open[key]

    def _drop(self, key: tuple[str, int, str], said: str) -> None:
        """Stop using the connection: a late answer on it would delay all later ones."""
        if connection := self._open.pop(key, None):
            connection.close()
            get_logger().warning("connection.dropped", host=key[0], port=key[1], purpose=key[2], error=said)
