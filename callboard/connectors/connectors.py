"""Connects a member of a cluster to other clusters."""

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import TracebackType

from callboard.actors.topology.announcements.connector import Connector
from callboard.actors.topology.announcements.registry import Registry, Source
from callboard.actors.topology.announcements.remote_cluster import RemoteCluster
from callboard.actors.topology.cluster_view import ClusterView
from callboard.connectors.bridge import BridgeEnd
from callboard.connectors.http import Http
from callboard.connectors.identity import MS_NS, Identity
from callboard.connectors.incoming import Incoming
from callboard.connectors.keys import ConnectorKey
from callboard.connectors.outgoing import Outgoing
from callboard.connectors.settings import ConnectorSettings
from callboard.door.boards import plain_function
from callboard.door.members import name
from callboard.door.rules import Rule, checked, instance_of
from callboard.errors import ConfigError
from callboard.escaping import escaped
from callboard.http_server import Server
from callboard.logger import get_logger

BETWEEN_S = 0.1
"""The shortest time between two exchanges of a connector, however much changes."""

WITHDRAW_S = 5.0
"""How long the end of a process may wait for its neighbours to be told."""


ARGUMENTS: dict[str, Rule] = {
    "settings": instance_of(ConnectorSettings), "instance": name, "local": plain_function, "changed": plain_function
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Link:
    """A connector of this process, or a neighbour that connects to it (``url`` is empty then).

    ``problem`` says why there is no exchange at the moment. ``clusters`` is how many clusters the neighbour announced,
    ``silent_ms`` ago; None if nothing is known of it any more. A connector ``stands_by``, with exchanges as rare as
    allowed, while all of that is known from others as well. The clock of a connector's neighbour was ``ahead_ms`` ahead
    of this process's when it last answered; negative if it was behind.
    """

    url: str
    neighbour: str
    clusters: int
    silent_ms: int | None
    problem: str
    stands_by: bool = False
    ahead_ms: int = 0


class Connectors:
    """The connectors of the instance ``instance``, from entering this context until leaving it.

    Args:
        settings: what to connect to, and who may connect.
        instance: the id of this instance.
        local: gives the view of the own cluster; None while there is none.
        changed: called on the event loop when ``remote`` has changed; it may also be set later.
        clock: the time, in nanoseconds since 1970.
        random_bytes: gives that number of random bytes.
        draw: gives random numbers between 0 and 1.

    Raises ``ConfigError`` for an argument of another kind.
    """

    def __init__(
        self,
        settings: ConnectorSettings,
        *,
        instance: str,
        local: Callable[[], ClusterView | None],
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], int] = time.time_ns,
        random_bytes: Callable[[int], bytes] = os.urandom,
        draw: Callable[[], float] = random.random,
    ) -> None:
        given = {"settings": settings, "instance": instance, "local": local, "changed": changed}
        checked(ConfigError, ARGUMENTS, given)
        self._settings, self.changed = settings, changed
        self._identity = Identity(instance, settings.keys, clock, random_bytes)
        self._registry = Registry(instance, local)
        self._connectors = [Connector(urls, settings.timing, self._registry, draw) for urls in settings.urls]
        bridge = settings.bridge
        if bridge and "." in instance:
            raise ConfigError(f"an instance that speaks version 1 has no dot in its id, as {instance} has; rename it")
        timing = bridge.timing if bridge else settings.timing
        self._bridged = [Connector((url,), timing, self._registry, draw) for url in (bridge.urls if bridge else ())]
        self._random_bytes = random_bytes
        self._wake = {connector: asyncio.Event() for connector in self._all()}
        self._remote: tuple[RemoteCluster, ...] = ()
        self._ahead_ms: dict[str, int] = {}
        self._server: Server | None = None
        self._stack = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    def _all(self) -> list[Connector]:
        return [*self._connectors, *self._bridged]

    @property
    def port(self) -> int:
        """The port that others may connect to; 0 if nothing listens."""
        return self._server.port if self._server else 0

    def remote(self) -> tuple[RemoteCluster, ...]:
        """The other clusters, ordered by id. No instance is in two of them, and none in the local cluster."""
        return self._remote

    def links(self) -> tuple[Link, ...]:
        """All connectors of this process, then all neighbours that connect to it."""
        out = []
        for each in self._all():
            url = each.url or each.source.name
            it = self._link(each.source, url, each.neighbour, each.problem)
            out.append(replace(it, stands_by=each.stands_by, ahead_ms=self._ahead_ms.get(url, 0)))
        into = [self._link(each, "", each.name, "") for each in self._registry.heard if not each.answered]
        return (*out, *into)

    def _link(self, source: Source, url: str, neighbour: str, problem: str) -> Link:
        heard = self._registry.heard.get(source)
        silent_ms = _monotonic_ms() - heard.heard_ms if heard else None
        return Link(url, neighbour, len(heard.clusters) if heard else 0, silent_ms, problem)

    def local_changed(self) -> None:
        """Announce the local cluster at once where it is not known as it is now.

        Call it, from any thread, when the view has changed.
        """
        if self._loop:
            self._loop.call_soon_threadsafe(self._changed)

    def use_keys(self, keys: Iterable[ConnectorKey]) -> None:
        """Use other keys from now on; the first one seals.

        Raises ``ConfigError`` if there are none, or had been none.
        """
        self._identity.use(keys)

    async def __aenter__(self) -> "Connectors":
        """Listen and connect. Raises ``ConfigError`` if it cannot listen, or a certificate cannot be used."""
        if self._loop is not None:
            raise ConfigError("these connectors are open already; make others for another use")
        settings = self._settings
        async with AsyncExitStack() as stack:
            bridge = None
            if settings.bridge:
                given = self._identity, self._registry, self._random_bytes, _monotonic_ms
                bridge = BridgeEnd(settings.bridge, *given)
                stack.push_async_callback(bridge.close)
            if settings.listen:
                context = settings.tls.context(server=True) if settings.tls else None
                app = Incoming(settings, self._identity, self._registry, self._changed, _monotonic_ms, bridge)
                self._server = Server(app, settings.address(), context)
                await self._server.start()
                stack.push_async_callback(self._server.stop)
            if bridge:
                self._call(stack, bridge, self._bridged)
            if self._connectors:
                context = settings.tls.context(server=False) if settings.tls else None
                http = Http(context, has_keys=bool(settings.keys))
                outgoing = Outgoing(self._identity, http.call, _monotonic_ms)
                self._ahead_ms = outgoing.ahead_ms
                stack.push_async_callback(http.close)
                self._call(stack, outgoing, self._connectors)
            stack.push_async_callback(_end, [self._begin(self._expire())])
            self._stack, self._loop = stack.pop_all(), asyncio.get_running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and tell the neighbours so."""
        self._loop = None
        await self._stack.aclose()

    def _call(self, stack: AsyncExitStack, through: Outgoing | BridgeEnd, connectors: list[Connector]) -> None:
        """Exchange announcements over these connectors until the end."""
        stack.push_async_callback(self._withdraw, through, connectors)
        stack.push_async_callback(_end, [self._begin(self._keep(through, each)) for each in connectors])

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._report)
        return task

    def _report(self, task: asyncio.Task[None]) -> None:
        """Log an error of the service's functions at once; it is raised when this context is left."""
        if not task.cancelled() and (error := task.exception()) is not None:
            get_logger(instance=self._identity.me).error("connector.ended", error=escaped(repr(error)))

    async def _keep(self, outgoing: Outgoing | BridgeEnd, connector: Connector) -> None:
        """Exchange announcements whenever it is due, until no URL is left."""
        wake = self._wake[connector]
        while connector.urls:
            try:
                if await outgoing.exchange(connector):
                    self._changed()
            except Exception as error:  # of the service's functions
                connector.failed(f"it has ended, because of {escaped(repr(error))}", _monotonic_ms())
                raise
            connector.reconsider()
            await asyncio.sleep(BETWEEN_S)
            while (wait_ms := connector.due_ms - _monotonic_ms()) > 0:
                wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_ms / 1000):
                        await wake.wait()

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(self._settings.timing.interval_ms / 4000)
            if self._registry.expire(_monotonic_ms()):
                self._changed()

    async def _withdraw(self, outgoing: Outgoing | BridgeEnd, connectors: list[Connector]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WITHDRAW_S):
                await asyncio.gather(*map(outgoing.withdraw, connectors))

    def _changed(self) -> None:
        """Tell the service, and the neighbours that do not know it yet."""
        remote = self._registry.remote()
        if remote != self._remote:
            self._remote = remote
            self.changed()
        for connector, wake in self._wake.items():
            connector.reconsider()
            wake.set()


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _monotonic_ms() -> int:
    return time.monotonic_ns() // MS_NS
