"""Exchanges announcements with Apache Sling's connectors, in version 1 of their protocol."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import httpx
from starlette.responses import Response

from callboard.actors.topology.announcements.connector import Connector
from callboard.actors.topology.announcements.registry import Clusters, Registry, Source
from callboard.connectors.envelope import BODY_BYTES_MAX
from callboard.connectors.http import ANSWER_S
from callboard.connectors.identity import Identity
from callboard.connectors.outgoing import FAILURES, MEANINGS
from callboard.connectors.replays import Replays
from callboard.connectors.settings import Bridge
from callboard.connectors.version1 import VERSION, SharedSecret, Told, read, written, zipped
from callboard.errors import NotAnswered, Undecodable
from callboard.escaping import escaped
from callboard.logger import get_logger
from callboard.messages.topology.connector_limits import check_announcement
from callboard.messages.topology.connector_messages import Announcement
from callboard.messages.topology.limits import demand

ANYONE = "?"
"""A neighbour that is not known yet: it is told everything."""


class BridgeEnd:
    """Answers requests, and calls URLs, as ``identity``.

    Times in announcements have to grow, and be near: so that one that was captured cannot be sent again.
    """

    def __init__(
        self,
        settings: Bridge,
        identity: Identity,
        registry: Registry,
        random_bytes: Callable[[int], bytes],
        monotonic_ms: Callable[[], int],
    ) -> None:
        self._settings, self._identity, self._registry = settings, identity, registry
        self._secret = SharedSecret(settings.secret, settings.key_ms, random_bytes)
        self._monotonic_ms = monotonic_ms
        self._replays, self._answers = Replays(), Replays()
        self._client = httpx.AsyncClient(
            verify=ssl.create_default_context(), trust_env=False, timeout=ANSWER_S,
            headers={"accept-encoding": "gzip", "user-agent": "callboard", "content-type": "application/json"},
        )  # fmt: skip
        self._log = get_logger(instance=identity.me)

    def owner_in(self, path: str) -> str:
        """The caller that a path names; empty if the path is not one of the bridge's."""
        begin, _, rest = path.partition(".")
        owner, _, end = rest.partition(".")
        return owner if begin == self._settings.path and end == "json" else ""

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[Response, bool]:
        """The answer to a request, and whether the announced clusters changed.

        Raises ``Undecodable`` for a request that is not authentic.
        """
        now_ms, owner = self._identity.now_ms(), self.owner_in(path)
        text = self._secret.opened("request", path, headers, body, now_ms)
        self._demand_believed(owner)
        source = Source(f"{owner}:{VERSION}", answered=False)
        if method == "DELETE":
            return Response(), self._registry.forget(source)
        try:
            told = read(text, self._identity.me)
            demand((told.owner, told.protocol) == (owner, VERSION), "it is from another owner, or of another version")
            announcement = Announcement(keep_ms=self._settings.timing.timeout_ms, clusters=told.clusters)
            check_announcement(announcement, owner)
        except Undecodable as error:
            self._log.warning("announcement.refused", neighbour=escaped(owner), reason=escaped(error))
            return Response(status_code=400), False
        if reason := self._replays.refused(owner, told.created_ms, told.created_ms, now_ms):
            raise Undecodable(reason)
        said = self._registry.said_to(owner)
        if said is None:
            return Response(status_code=503), False
        if self._is_loop(source, told, said):
            changed, said, more = self._registry.forget(source), (), {"loop": True}
        else:
            changed, more = self._registry.hear(source, announcement, self._monotonic_ms()), {}
        text = written(self._identity.me, self._registry.said_to(owner) or () if said else (), now_ms, **more)
        answer, headed = self._secret.sealed("response", path, text, now_ms)
        if "gzip" in headers.get("accept-encoding", ""):
            answer, headed = zipped(answer), headed | {"content-encoding": "gzip"}
        return Response(answer, headers=headed, media_type="application/json"), changed

    def _is_loop(self, source: Source, told: Told, said: Clusters) -> bool:
        """Whether the owner is known in another way, or what it tells is of the local cluster."""
        local = {each.instance for each in said[0].instances}
        elsewhere = [each for of, heard in self._registry.heard.items() if of != source for each in heard.clusters]
        return any(local & {each.instance for each in cluster.instances} for cluster in told.clusters) or any(
            told.owner == each.instance for cluster in elsewhere for each in cluster.instances
        )

    async def exchange(self, connector: Connector) -> bool:
        """Exchange announcements over a connector with one URL; returns whether the answer has news."""
        url = connector.urls[0]
        try:
            return await self._exchanged(connector, url)
        except FAILURES as error:
            if not connector.problem:
                self._log.warning("connector.failed", problems=[f"{url}: {escaped(error)}"])
            connector.failed(f"{url}: {escaped(error) or type(error).__name__}", self._monotonic_ms())
            return False

    async def withdraw(self, connector: Connector) -> None:
        """Tell the other side that there will be no more announcements. Where that fails, the last one expires."""
        for url in connector.urls:
            try:
                await self._ask("DELETE", url, None)
            except FAILURES as error:
                self._log.info("announcement.left", url=url, reason=escaped(error))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _exchanged(self, connector: Connector, url: str) -> bool:
        me, now_ms = self._identity.me, self._identity.now_ms()
        said = connector.request(connector.neighbour or ANYONE, self._monotonic_ms())
        if said is None:
            raise NotAnswered("this process is in no cluster at the moment, and has nothing to announce")
        told = read(await self._ask("PUT", url, written(me, said.clusters, now_ms, serverInfo="callboard")), me)
        if told.owner == me:
            connector.leave(url)
            raise NotAnswered("it leads back to this process, and is not used again")
        demand(told.protocol == VERSION, "it speaks another version of the protocol")
        self._demand_believed(told.owner)
        if reason := self._answers.refused(url, told.created_ms, told.created_ms, self._identity.now_ms()):
            raise Undecodable(reason)
        answer = Announcement(keep_ms=said.keep_ms, clusters=told.clusters)
        check_announcement(answer, told.owner)
        return connector.answered(url, told.owner, said, answer, self._monotonic_ms())

    async def _ask(self, method: str, url: str, text: str | None) -> str:
        """Send a request, and return the text of the answer."""
        url = f"{url}.{self._identity.me}.json"
        body, headers = self._secret.sealed("request", urlsplit(url).path, text, self._identity.now_ms())
        if self._settings.gzip and text is not None:
            body, headers = zipped(body), headers | {"content-encoding": "gzip"}
        async with (
            asyncio.timeout(ANSWER_S),
            self._client.stream(method, url, content=body, headers=headers) as response,
        ):
            if response.status_code != 200:
                meaning = MEANINGS.get(response.status_code, "it is no connector")
                raise NotAnswered(f"HTTP {response.status_code}: {meaning}")
            got = bytearray()
            async for chunk in response.aiter_raw():
                got += chunk
                demand(len(got) <= BODY_BYTES_MAX, f"the answer has more than {BODY_BYTES_MAX} bytes")
        if text is None:
            return ""
        path = urlsplit(url).path
        return self._secret.opened("response", path, response.headers, bytes(got), self._identity.now_ms())

    def _demand_believed(self, owner: str) -> None:
        demand(self._identity.ring.believes(None, owner, None), f"{owner} has a key, and does not speak version 1")
