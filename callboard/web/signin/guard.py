"""In front of the pages and the API: identifies the user, and refuses what they may not do."""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from callboard.web.signin.access import Access, Network
from callboard.web.signin.client import is_cross_site, seen_through
from callboard.web.signin.headers import with_headers
from callboard.web.signin.methods import Decide, Header, Local, Method, Service
from callboard.web.signin.passwords import Passwords
from callboard.web.signin.refusal import Refusal, path_of
from callboard.web.signin.sessions import Sessions
from callboard.web.signin.users_file import UsersFile
from callboard.web.user import User

SAFE = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

BODY_BYTES_MAX = 1 << 20
BODY_S = 10.0
"""How large a body may be, and how long it may take to come. It is read before the application sees the request."""

FORM_BYTES_MAX = 16 << 10
"""The same for a client that is not signed in."""

STREAM_S = 5.0
"""How often the user of an open stream is checked again: they may be signed out meanwhile."""


class Guard:
    """ASGI middleware: sets ``request.state.user``, or answers itself.

    Args:
        app: the application.
        method: identifies the user of a request.
        proxies: if there are any, only they may connect.
    """

    def __init__(self, app: ASGIApp, method: Method, proxies: Sequence[Network]) -> None:
        self._app, self._method, self._proxies = app, method, tuple(proxies)
        self._open = {route.path for route in method.routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            return await WebSocketClose()(scope, receive, send)
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        seen = seen_through(scope, self._proxies)
        request = Request(seen or scope, receive)
        send = with_headers(request, send)
        found = await self._found(request) if seen else Refusal(403, "forbidden", "only the proxies may connect here")
        if not isinstance(found, Refusal) and request.method not in SAFE:
            read = await _read(receive, BODY_BYTES_MAX if found else FORM_BYTES_MAX)
            if isinstance(read, Refusal):
                found = read
            else:
                receive = _again(read, receive)
        if isinstance(found, Refusal):
            return await found.answer(request)(request.scope, receive, send)
        if found:
            request.scope["state"]["user"] = found
            send = self._while_signed_in(request, found, send)
        return await self._app(request.scope, receive, send)

    async def _found(self, request: Request) -> User | Refusal | None:
        """The user, or why there is none; None where nobody has to sign in."""
        if is_cross_site(request, may_lead_here=request.method in SAFE):
            return Refusal(
                403, "cross_site", "a page of another site sent this; if you want it, do it in the console itself"
            )
        path = path_of(request)
        if path in self._open or path.startswith("/static/"):
            return None
        found = await self._method.user(request)
        if isinstance(found, User) and found.role == "viewer" and request.method not in SAFE:
            return Refusal(403, "forbidden", f"{found.name} may look, but not act; that needs the role operator")
        return found

    def _while_signed_in(self, request: Request, user: User, send: Send) -> Send:
        """End an open stream when its user is signed out or has another role."""
        loop = asyncio.get_running_loop()
        asked_s, ended = loop.time(), False

        async def sending(message: Message) -> None:
            nonlocal asked_s, ended
            if message.get("more_body") and not ended and loop.time() - asked_s >= STREAM_S:
                asked_s = loop.time()
                if await self._method.user(request) != user:
                    ended = True
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            if not ended:
                await send(message)

        return sending


def method_of(access: Access | Decide, secret: bytes) -> Method:
    """How the user of a request is identified; ``secret`` signs sessions.

    Raises ``ConfigError`` if a file cannot be used, and ``ExtraMissing``.
    """
    if not isinstance(access, Access):
        return Service(access)
    if access.is_local:
        return Local()
    if access.header:
        return Header(access)
    sessions = Sessions(secret, access)
    if access.provider:
        from callboard.web.signin.openid import OpenId

        return OpenId(access.provider, access, sessions, secret)
    return Passwords(UsersFile(access.users), sessions)


async def _read(receive: Receive, bytes_max: int) -> bytes | Refusal:
    """The whole body."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return Refusal(400, "incomplete", "the request ended early; send it again")
                body += message.get("body", b"")
                if len(body) > bytes_max:
                    return Refusal(413, "too_large", f"the request has more than {bytes_max} bytes; send less")
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError:
        return Refusal(408, "timeout", f"the request did not come within {BODY_S:g} s; send it again")


def _again(body: bytes, receive: Receive) -> Receive:
    """The same, with the body that was read before."""
    unread = [body]

    async def receiving() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return receiving
