"""People who sign in at an OpenID provider. Needs the extra ``oidc``."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from callboard.door.key_files import read_private
from callboard.errors import ExtraMissing
from callboard.escaping import escaped
from callboard.logger import get_logger
from callboard.web.signin.access import Access, Provider
from callboard.web.signin.client import address_of
from callboard.web.signin.methods import is_user_name, role_of, without_role
from callboard.web.signin.passwords import SIGN_IN_FIRST, signing_out
from callboard.web.signin.refusal import SIGN_IN, SIGN_OUT, Refusal, base_of, outside, within
from callboard.web.signin.sessions import Sessions, Signed
from callboard.web.user import User

try:
    from authlib.common.errors import AuthlibBaseError
    from authlib.integrations.starlette_client import OAuth
    from httpx2 import HTTPError
    from joserfc.errors import JoseError
except ImportError as missing:
    raise ExtraMissing(
        f"to sign in at an OpenID provider needs {missing.name}; run: pip install 'callboard[web,oidc]'"
    ) from missing

ANSWER_S = 10.0
"""How long the provider may take for each answer to this process."""

LASTS_S = 600
"""How long somebody may take at the provider."""

FAILED = (AuthlibBaseError, JoseError, HTTPError, ValueError, KeyError, TypeError, RuntimeError)
"""What Authlib raises for a provider that does not answer, or not as it should."""


class OpenId:
    """Signs in users of the provider who have a role here."""

    def __init__(self, provider: Provider, access: Access, sessions: Sessions, secret: bytes) -> None:
        self._provider, self._access, self._sessions = provider, access, sessions
        self._begun = Signed("callboard_sign_in", SIGN_IN, secret, access)
        self._client: Any = OAuth().register(
            "provider",
            client_id=provider.client_id,
            client_secret=read_private(provider.secret_file, "the file of the provider's secret").decode(),
            server_metadata_url=provider.discovery,
            client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256", "timeout": ANSWER_S},
        )
        self.routes = (
            Route(SIGN_IN, self._page, methods=["GET"]),
            Route(f"{SIGN_IN}/provider", self._there, methods=["GET"]),
            Route(f"{SIGN_IN}/back", self._back, methods=["GET"]),
            Route(SIGN_OUT, signing_out(sessions), methods=["POST"]),
        )

    async def user(self, request: Request) -> User | Refusal:
        """Whose session it is."""
        session = self._sessions.of(request)
        return session.user() if session else SIGN_IN_FIRST

    async def _page(self, request: Request) -> Response:
        return outside(request, "Sign in", form="provider", next=within(request.query_params.get("next", "/")))

    async def _there(self, request: Request) -> Response:
        """To the provider; what has to come back from there is kept in a cookie."""
        kept: dict[str, Any] = {"next": within(request.query_params.get("next", "/"))}
        here = f"{request.url.scheme}://{request.url.netloc}{base_of(request)}{SIGN_IN}/back"
        try:
            response: Response = await self._client.authorize_redirect(_keeping(request, kept), here)
        except FAILED as error:
            return self._failed(request, error)
        self._begun.write(request, response, kept, LASTS_S)
        return response

    async def _back(self, request: Request) -> Response:
        """From the provider, with a code for which it tells who came."""
        kept = self._begun.read(request) or {}
        try:
            token = await self._client.authorize_access_token(_keeping(request, kept))
            claims = token["userinfo"]
        except FAILED as error:
            return self._failed(request, error)
        by = self._provider
        name, values = claims.get(by.name_claim), claims.get(by.role_claim)
        if "email" in {by.name_claim, by.role_claim} and claims.get("email_verified") is False:
            return self._refused(request, 403, "the provider has not verified your email address; do that there")
        if not is_user_name(name):
            return self._refused(request, 403, f"the provider names nobody in the claim {by.name_claim}")
        known = values if isinstance(values, list) else [values]
        role = role_of([value for value in known if isinstance(value, str)], self._access)
        if role is None:
            return self._refused(request, 403, without_role(name).message, name)
        response = RedirectResponse(f"{base_of(request)}{within(kept.get('next', '/'))}", 303)
        self._begun.write(request, response, None, 0)
        self._sessions.begin(request, response, name, role)
        get_logger(user=escaped(name), client=escaped(address_of(request))).info("signin.succeeded", role=role)
        return response

    def _failed(self, request: Request, error: Exception) -> Response:
        why = str(error) or type(error).__name__
        return self._refused(request, 502, f"the OpenID provider did not sign you in: {why[:300]}; try again")

    def _refused(self, request: Request, status: int, reason: str, name: str = "") -> Response:
        line = get_logger(user=escaped(name), client=escaped(address_of(request)))
        line.warning("signin.refused", reason=escaped(reason))
        return outside(request, "You are not signed in", reason, status, form="provider", next="/")


def _keeping(request: Request, kept: dict[str, Any]) -> Request:
    """The request with this as its session, which Authlib reads and changes; the service may have its own."""
    return Request({**request.scope, "session": kept}, request.receive)
