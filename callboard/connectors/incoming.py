"""Answers the requests of other clusters' connectors."""

import asyncio
from collections.abc import Callable, Collection

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from callboard.actors.topology.announcements.registry import NEIGHBOURS_MAX, Registry, Source
from callboard.connectors.allow_list import AllowList, addresses_of, as_network, client_of, names_of
from callboard.connectors.bridge import BridgeEnd
from callboard.connectors.envelope import BODY_BYTES_MAX, PROTOCOL, Opened
from callboard.connectors.identity import Identity
from callboard.connectors.replays import Replays
from callboard.connectors.settings import ConnectorSettings
from callboard.errors import RequestRefused, Undecodable
from callboard.escaping import escaped
from callboard.http_server import CERTIFIED
from callboard.logger import get_logger
from callboard.messages.event import replaced
from callboard.messages.topology.connector_limits import check_announcement
from callboard.messages.topology.connector_messages import Announcement

READ_S = 10.0
"""How long a client may take to send its request."""

LOG_MS = 60_000
"""Refusals are logged once in this time: an unauthenticated client can cause any number."""


class Incoming:
    """An ASGI application. An unauthenticated client gets the same 404 as for any path that does not exist."""

    def __init__(
        self,
        settings: ConnectorSettings,
        identity: Identity,
        registry: Registry,
        changed: Callable[[], None],
        monotonic_ms: Callable[[], int],
        bridge: BridgeEnd | None = None,
    ) -> None:
        self._path, self._bridge = settings.path, bridge
        self._allow = AllowList(settings.allow, addresses_of, names_of) if settings.allow else None
        self._proxies = tuple(network for each in settings.proxies if (network := as_network(each)))
        self._identity, self._registry, self._changed = identity, registry, changed
        self._monotonic_ms = monotonic_ms
        self._replays = Replays()
        self._logged_ms = -LOG_MS
        self._log = get_logger(instance=identity.me)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answered(request)
        except (Undecodable, TimeoutError, ClientDisconnect) as error:
            self._refused(request, str(error) or "it was not sent in time")
            response = PlainTextResponse("Not Found", 404)
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        path, method = request.url.path, request.method
        bridge = self._bridge if self._bridge and self._bridge.owner_in(path) else None
        if (path != self._path and not bridge) or method not in {"PUT", "DELETE"}:
            raise Undecodable(f"{method!r:.20} {path!r:.80} is not what connectors send")
        client = client_of(
            request.client.host if request.client else "", request.headers.getlist("x-forwarded-for"), self._proxies
        )
        if self._allow is not None and not await self._allow.admits(client):
            raise Undecodable(f"{client!r:.80} is not allowed to connect")
        async with asyncio.timeout(READ_S):
            body = await _read(request)
        if bridge:
            response, changed = bridge.answer(method, path, request.headers, body)
            if changed:
                self._changed()
            return response
        status, answer = self.answer(method, path, body, request.scope["state"].get(CERTIFIED))
        return Response(answer, status, media_type="application/octet-stream")

    def answer(self, method: str, path: str, body: bytes, certified: Collection[str] | None) -> tuple[int, bytes]:
        """The status and body of the answer. Raises ``Undecodable`` for a request that is not to be answered."""
        request = self._identity.asked(method, path, body, certified)
        envelope = request.envelope
        if envelope.protocol != PROTOCOL:
            return 400, b""
        if envelope.receiver != self._identity.address:
            return 409, self._identity.answer(method, path, request, Announcement())
        if reason := self._replays.refused(
            envelope.sender, envelope.counter, envelope.sent_ms, self._identity.now_ms()
        ):
            raise Undecodable(reason)
        status, answer = self._exchanged(method, request)
        try:
            return status, self._identity.answer(method, path, request, answer)
        except RequestRefused:  # the own cluster is too large
            return 503, b""

    def _exchanged(self, method: str, request: Opened) -> tuple[int, Announcement]:
        sender, announcement = request.envelope.sender, request.announcement
        if method == "DELETE":
            if self._registry.forget(Source(sender, answered=False)):
                self._changed()
            return 200, Announcement()
        try:
            check_announcement(announcement, sender)
        except Undecodable as error:
            self._log.warning("announcement.refused", neighbour=sender, reason=escaped(error))
            return 400, Announcement()
        source = Source(sender, answered=False)
        if self._registry.hear(source, announcement, self._monotonic_ms()):
            self._changed()
        if source not in self._registry.heard:
            self._log.warning("announcement.ignored", neighbour=sender, reason=f"there are {NEIGHBOURS_MAX} others")
        clusters = self._registry.said_to(sender)
        if clusters is None:
            return 503, Announcement()
        return 200, replaced(announcement, clusters=clusters)

    def _refused(self, request: Request, reason: str) -> None:
        now_ms = self._monotonic_ms()
        if now_ms - self._logged_ms >= LOG_MS:
            self._logged_ms = now_ms
            peer = request.client.host if request.client else ""
            self._log.warning("connection.refused", peer=escaped(peer), reason=escaped(reason))


async def _read(request: Request) -> bytes:
    """The body. Raises ``Undecodable`` as soon as it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise Undecodable(f"it has more than {BODY_BYTES_MAX} bytes")
    return bytes(body)
