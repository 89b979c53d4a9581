"""Headers of every answer: what a browser may do with it."""

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Send

from callboard.http_server import CERTIFIED
from callboard.web.console.drawing import static_digest
from callboard.web.signin.refusal import path_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
SECURE = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Set unless the answer says otherwise."""

STATIC = "public, max-age=31536000, immutable"
"""For files, asked for by the digest of their content."""

ONLY_TLS = "max-age=31536000"


def with_headers(request: Request, send: Send) -> Send:
    """The same, with these headers. Only where this process does TLS itself, browsers are told to demand it: elsewhere
    that is for those to say who do it.
    """
    lasts = path_of(request).startswith("/static/") and request.url.query == static_digest()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            if lasts and message["status"] < 400:
                headers["Cache-Control"] = STATIC
            for name, value in SECURE.items():
                headers.setdefault(name, value)
            if CERTIFIED in (request.scope.get("state") or {}):
                headers.setdefault("Strict-Transport-Security", ONLY_TLS)
        await send(message)

    return sending
