"""Sends requests over HTTP."""

import ssl
from typing import NamedTuple

import httpx

from callboard.connectors.envelope import BODY_BYTES_MAX
from callboard.errors import Undecodable
from callboard.http_server import certified

ANSWER_S = 10.0
"""How long an answer may take, the connection included."""

ANSWERED = frozenset({200, 409})
"""The status of answers with a body that counts."""


class Answer(NamedTuple):
    """The answer to a request, and the names in the certificate of the one who answered, None if they do not count."""

    status: int
    body: bytes
    names: frozenset[str] | None


class Http:
    """Certificates say who answers if there is a ``context`` for them, or if there is no key (``has_keys``)."""

    def __init__(self, context: ssl.SSLContext | None, *, has_keys: bool) -> None:
        self._certificates_count = bool(context) or not has_keys
        self._client = httpx.AsyncClient(
            verify=context or ssl.create_default_context(), trust_env=False, timeout=ANSWER_S,
            headers={"accept-encoding": "identity", "user-agent": "callboard"},
        )  # fmt: skip

    async def call(self, method: str, url: str, body: bytes) -> Answer:
        """Send a request. Raises ``httpx.HTTPError``, and ``Undecodable`` if the answer is too large."""
        async with self._client.stream(method, url, content=body) as response:
            got = bytearray()
            if response.status_code in ANSWERED:
                async for chunk in response.aiter_raw():
                    got += chunk
                    if len(got) > BODY_BYTES_MAX:
                        raise Undecodable(f"the answer has more than {BODY_BYTES_MAX} bytes")
            connection = response.extensions["network_stream"].get_extra_info("ssl_object")
        names = certified(connection) if self._certificates_count else None
        return Answer(response.status_code, bytes(got), names)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
