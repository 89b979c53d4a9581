"""An OpenID provider on a port of this host: it asks nobody, and says what a test wants it to say."""

import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.web.signin.consoles import serving

CLIENT, SECRET = "console", "the client's secret"


class OpenIdProvider:
    """Signs in who ``claims`` says. ``change`` alters the claims of the token, ``key`` signs it."""

    def __init__(self) -> None:
        self.url = ""
        self.claims: dict[str, Any] = {"sub": "17", "preferred_username": "ann", "groups": ["staff", "ops"]}
        self.change: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.error = ""
        self.down = False
        self.shown = self.key = self.new_key("one")
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[dict[str, str]] = []

    def new_key(self, name: str) -> RSAKey:
        return RSAKey.generate_key(2048, {"kid": name})

    def app(self) -> Starlette:
        return Starlette(routes=[
            Route("/.well-known/openid-configuration", self._metadata), Route("/keys", self._keys),
            Route("/authorize", self._authorize), Route("/token", self._token, methods=["POST"]),
        ])  # fmt: skip

    async def _metadata(self, _: Request) -> Response:
        if self.down:
            return Response("down", 503)
        told = {
            "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }  # fmt: skip
        return JSONResponse(told | self.metadata)

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self.shown.as_dict(private=False)]})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(asked)
        if self.error:
            told = {"error": self.error, "error_description": "<b>no</b>"}
        else:
            told = {"code": secrets.token_hex()}
            self.codes[told["code"]] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(told | {'state': asked['state']})}")

    async def _token(self, request: Request) -> Response:
        given = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self.codes.pop(given.get("code", ""), None)
        right = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        verifier = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if (
            not asked or request.headers.get("authorization") != right or challenge != asked["code_challenge"]
            or asked["code_challenge_method"] != "S256" or given["redirect_uri"] != asked["redirect_uri"]
        ):  # fmt: skip
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = {"iss": self.url, "aud": CLIENT, "exp": int(time.time()) + 60, "iat": int(time.time())}
        claims |= {"nonce": asked["nonce"]} | self.claims | self.change
        header = {"alg": "RS256", "kid": self.key.kid}
        token = jwt.encode(header, {k: v for k, v in claims.items() if v is not None}, self.key)
        answer = {"access_token": secrets.token_hex(), "token_type": "Bearer", "expires_in": 60}
        return JSONResponse(answer | ({} if self.change.get("id_token") == "none" else {"id_token": token}))


@asynccontextmanager
async def provider() -> AsyncIterator[OpenIdProvider]:
    it = OpenIdProvider()
    async with serving(it.app()) as it.url:
        yield it
