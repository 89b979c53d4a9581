"""People sign in at an OpenID provider, which is a real one on this host; its tokens are real ones, too."""

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from callboard.errors import ConfigError, ExtraMissing
from callboard.web.signin.access import Access, Provider
from tests.web.signin.consoles import JSON_401, browser, console, diagnostic, problem, run
from tests.web.signin.provider import CLIENT, SECRET, OpenIdProvider, provider


def access(it: OpenIdProvider, folder: Path, **options: Any) -> Access:
    secret = folder / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    of_provider = {name: options.pop(name) for name in ("name_claim", "role_claim") if name in options}
    discovery = f"{it.url}/.well-known/openid-configuration"
    known = Provider(discovery=discovery, client_id=CLIENT, secret_file=str(secret), **of_provider)
    return Access(provider=known, **({"viewers": ("staff",), "operators": ("ops",)} | options))


@asynccontextmanager
async def both(folder: Path, **options: Any) -> AsyncIterator[tuple[OpenIdProvider, httpx.AsyncClient]]:
    async with provider() as it, console(access=access(it, folder, **options)) as someone:
        yield it, someone


async def sign_in(someone: httpx.AsyncClient, on: str = "/") -> httpx.Response:
    """What the browser gets back here, of all that it is led through."""
    there = await someone.get("/sign-in/provider", params={"next": on})
    if there.status_code != 302:
        return there
    async with httpx.AsyncClient(trust_env=False) as elsewhere:
        back = (await elsewhere.get(there.headers["location"])).headers["location"]
    return await someone.get(back)


@run
async def test_who_the_provider_knows_signs_in_with_the_role_of_their_groups(tmp_path):
    async with both(tmp_path) as (it, ann):
        first = await ann.get("/?a=b")
        page = await ann.get(first.headers["location"])
        assert 'href="/sign-in/provider?next=%2F%3Fa%3Db"' in page.text
        with structlog.testing.capture_logs() as lines:
            answer = await sign_in(ann, "/?a=b")
        assert (answer.status_code, answer.headers["location"]) == (303, "/?a=b")
        (said,) = lines
        assert (said["event"], said["user"], said["role"]) == ("signin.succeeded", "ann", "operator")
        assert "ann (operator)" in (await ann.get("/")).text
        (asked,) = it.asked
        assert {"state", "nonce", "code_challenge"} <= set(asked)
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert asked["redirect_uri"] == f"{ann.base_url}/sign-in/back"
        await ann.post("/sign-out")
        assert diagnostic(await ann.get("/live/")) == JSON_401


@pytest.mark.parametrize(
    ("claims", "options", "role"),
    [({"groups": ["staff"]}, {}, "viewer"), ({"groups": "ops"}, {}, "operator"), ({"groups": []}, {}, None),
     ({"groups": None}, {}, None), ({"groups": [None, 1, {}]}, {}, None), ({"groups": {"ops": 1}}, {}, None),
     ({"groups": ["None", "o", "*"]}, {}, None), ({"groups": []}, {"viewers": ("*",)}, "viewer"),
     ({"groups": ["staff"]}, {"operators": ("*",)}, "operator"),
     ({"email": "ann@a.example"}, {"role_claim": "email", "operators": ("ann@a.example",)}, "operator"),
     ({"email": "ann@a.example", "email_verified": False}, {"role_claim": "email", "viewers": ("*",)}, None)],
)  # fmt: skip
@run
async def test_the_role_comes_from_a_claim(tmp_path, claims, options, role):
    async with both(tmp_path, **options) as (it, ann):
        it.claims |= claims
        answer = await sign_in(ann)
        if role:
            assert answer.status_code == 303
            assert f"ann ({role})" in (await ann.get("/")).text
        else:
            assert answer.status_code == 403
            assert (await ann.get("/")).status_code == 303


@pytest.mark.parametrize(
    "change",
    [{"iss": "https://evil.example"}, {"aud": "another"}, {"nonce": "another"}, {"nonce": None}, {"exp": 1000},
     {"exp": None}, {"iss": None}, {"aud": None}, {"id_token": "none"}],
)  # fmt: skip
@run
async def test_a_token_for_somebody_else_or_another_time_signs_nobody_in(tmp_path, change):
    async with both(tmp_path) as (it, ann):
        it.change = change
        with structlog.testing.capture_logs() as lines:
            answer = await sign_in(ann)
        assert (answer.status_code, "callboard_session" in ann.cookies) == (502, False)
        assert "the OpenID provider did not sign you in" in problem(answer)
        assert [each["event"] for each in lines] == ["signin.refused"]


@pytest.mark.parametrize("name", [None, "", "a\nb", "x" * 300, 17, ["ann"], "\u202eann"])
@run
async def test_a_name_that_cannot_stand_in_audit_lines_signs_nobody_in(tmp_path, name):
    async with both(tmp_path) as (it, ann):
        it.claims["preferred_username"] = name
        assert (await sign_in(ann)).status_code == 403


@run
async def test_a_token_signed_by_another_key_signs_nobody_in_but_a_new_key_of_the_provider_does(tmp_path):
    async with both(tmp_path) as (it, ann):
        assert (await sign_in(ann)).status_code == 303
        it.key = it.new_key("one")
        assert (await sign_in(ann)).status_code == 502
        it.key = it.new_key("two")
        assert (await sign_in(ann)).status_code == 502
        it.shown = it.key
        assert (await sign_in(ann)).status_code == 303


@run
async def test_only_the_browser_that_went_to_the_provider_comes_back_signed_in_and_once(tmp_path):
    async with both(tmp_path) as (_, attacker), browser(str(attacker.base_url)) as victim:
        there = await attacker.get("/sign-in/provider")
        async with httpx.AsyncClient(trust_env=False) as elsewhere:
            back = (await elsewhere.get(there.headers["location"])).headers["location"]
        for path in (back, "/sign-in/back", "/sign-in/back?code=x&state=y", back.replace("state=", "state=x")):
            assert (await victim.get(path)).status_code == 502
        assert (await attacker.get(back)).status_code == 303
        assert (await attacker.get(back)).status_code == 502


@run
async def test_what_the_provider_says_is_wrong_is_shown_and_escaped(tmp_path):
    async with both(tmp_path) as (it, ann):
        it.error = "access_denied"
        answer = await sign_in(ann)
        assert answer.status_code == 502
        assert "access_denied: &lt;b&gt;no&lt;/b&gt;" in problem(answer)


@pytest.mark.parametrize("metadata", [{"jwks_uri": None}, {"authorization_endpoint": None}, {"issuer": "x"},
                                      {"token_endpoint": "http://127.0.0.1:9/"}])  # fmt: skip
@run
async def test_a_provider_that_says_too_little_or_nonsense_is_reported(tmp_path, metadata):
    async with both(tmp_path) as (it, ann):
        it.metadata = metadata
        assert (await sign_in(ann)).status_code == 502


@run
async def test_a_provider_that_is_down_is_reported_and_asked_again_later(tmp_path):
    async with both(tmp_path) as (it, ann):
        it.down = True
        assert "503" in problem(await ann.get("/sign-in/provider"))
        it.down = False
        assert (await sign_in(ann)).status_code == 303


@run
async def test_below_a_path_and_behind_a_proxy_the_provider_leads_back_to_where_people_came_from(tmp_path):
    async with provider() as it:
        of = access(it, tmp_path, proxies=("127.0.0.1",))
        async with console(access=of, root_path="/ops") as ann:
            ann.headers.update({"Host": "board.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.9"})
            there = await ann.get("/sign-in/provider")
            assert "redirect_uri=https%3A%2F%2Fboard.example%2Fops%2Fsign-in%2Fback" in there.headers["location"]
            assert re.search("callboard_sign_in=.*Path=/ops/sign-in;.*; Secure", there.headers["set-cookie"])


@run
async def test_two_who_sign_in_at_once_do_not_get_mixed_up(tmp_path):
    async with both(tmp_path) as (it, ann), browser(str(ann.base_url)) as bob:
        answers = await asyncio.gather(*(sign_in(each) for each in (ann, bob)))
        assert [each.status_code for each in answers] == [303, 303]
        assert len({asked["state"] for asked in it.asked}) == 2


def test_settings_that_cannot_work_are_refused(tmp_path):
    for discovery in ("http://id.example/x", "id.example", "ftp://id.example", "https://", 7, "http://["):
        with pytest.raises(ConfigError, match="discovery is"):
            Provider(discovery=discovery, client_id="c", secret_file="f")
    known = Provider(discovery="https://id.example/x", client_id="c", secret_file=str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="nobody who signs in"):
        Access(provider=known)
    with pytest.raises(ConfigError, match="the provider's secret"):
        run(_open)(Access(provider=known, viewers=("*",)))


def test_without_its_packages_the_command_that_installs_them_is_shown(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "authlib.common.errors", None)
    monkeypatch.delitem(sys.modules, "callboard.web.signin.openid", raising=False)
    known = Provider(discovery="https://id.example/x", client_id="c", secret_file=str(tmp_path / "none"))
    with pytest.raises(ExtraMissing, match=r"pip install 'callboard\[web,oidc\]'"):
        run(_open)(Access(provider=known, viewers=("*",)))


async def _open(of: Access) -> None:
    async with console(access=of):
        pass


def test_the_clock_of_the_provider_may_be_a_little_off(tmp_path):
    @run
    async def signing_in() -> None:
        async with both(tmp_path) as (it, ann):
            it.change = {"iat": int(time.time()) + 60, "exp": int(time.time()) + 120}
            assert (await sign_in(ann)).status_code == 303

    signing_in()
