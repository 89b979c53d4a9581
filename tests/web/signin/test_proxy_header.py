"""A proxy names the user in a header, which is believed of nobody else."""

import pytest

from callboard.errors import ConfigError
from callboard.web import Access, Provider
from tests.web.signin.consoles import console, diagnostic, problem, run

USER, GROUPS = "X-Forwarded-User", "X-Forwarded-Groups"
PROXY = Access(header=USER, proxies=("127.0.0.0/8", "::1"))


@run
async def test_whom_the_proxy_names_may_look():
    async with console(access=PROXY) as proxy:
        page = await proxy.get("/", headers={USER: "Jörg Ä.".encode()})
        assert "Jörg Ä. (viewer)" in page.text
        assert "Sign out" not in page.text
        assert (await proxy.post("/", headers={USER: "ann"})).status_code == 403


@run
async def test_from_elsewhere_nobody_is_believed_and_nothing_is_shown():
    async with console(access=Access(header=USER, proxies=("10.0.0.0/8",))) as stranger:
        for headers in ({USER: "ann"}, {USER: "ann", "X-Forwarded-For": "10.0.0.1"}, {}):
            for path in ("/", "/static/console.css", "/live/", "/sign-in"):
                assert (await stranger.get(path, headers=headers)).status_code == 403
        assert problem(await stranger.get("/")) == "only the proxies may connect here"


@pytest.mark.parametrize("value", ["", "x" * 201, "a\u2028b", b"\xff\xfe"])
@run
async def test_a_name_that_cannot_stand_in_audit_lines_is_nobodys(value):
    sent = value if isinstance(value, bytes) else value.encode()
    async with console(access=PROXY) as proxy:
        answer = await proxy.get("/live/", headers={USER: sent})
        assert (answer.status_code, diagnostic(answer)["code"]) == (401, "unauthorized")
        assert (await proxy.get("/")).status_code == 401


@run
async def test_a_header_that_came_twice_is_nobodys():
    async with console(access=PROXY) as proxy:
        assert (await proxy.get("/live/", headers=[(USER, "ann"), (USER, "eve")])).status_code == 401


@pytest.mark.parametrize(
    ("groups", "role"),
    [(["ops"], "operator"), (["staff, ops"], "operator"), (["staff"], "viewer"), (["x", "ops"], "operator"),
     (["operators"], None), ([""], None), ([], None), (["ann"], None), (["*"], None)],
)  # fmt: skip
@run
async def test_the_role_comes_from_groups(groups, role):
    access = Access(header=USER, role_header=GROUPS, viewers=("staff",), operators=("ops",), proxies=("127.0.0.1",))
    async with console(access=access) as proxy:
        page = await proxy.get("/", headers=[(USER, "ann"), *((GROUPS, each) for each in groups)])
        assert f"ann ({role})" in page.text if role else page.status_code == 403
        acted = await proxy.post("/", headers=[(USER, "ann"), *((GROUPS, each) for each in groups)])
        assert acted.status_code == (405 if role == "operator" else 403)


@run
async def test_without_groups_the_role_comes_from_the_name():
    async with console(access=Access(header=USER, operators=("ann",), viewers=("*",), proxies=("127.0.0.1",))) as proxy:
        for name, role in (("ann", "operator"), ("eve", "viewer")):
            assert f"{name} ({role})" in (await proxy.get("/", headers={USER: name, GROUPS: "ann"})).text


OPENID = Provider(discovery="https://id.example/x", client_id="c", secret_file="f")


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"header": USER}, "any client could send X-Forwarded-User"), ({"proxies": ["10.0.0.1"]}, "through a proxy"),
     ({"users": "u", "header": USER, "proxies": ["10.0.0.1"]}, "exclude each other"),
     ({"users": "u", "provider": OPENID, "viewers": ["*"]}, "exclude each other"),
     ({"users": "u", "viewers": ["ann"]}, "remove them"), ({"operators": ["ann"]}, "remove them"),
     ({"users": "u", "role_header": GROUPS}, "remove them"), ({"provider": OPENID}, "nobody who signs in"),
     ({"header": "X Y", "proxies": ["10.0.0.1"]}, "header is"), ({"header": "X:", "proxies": ["::1"]}, "header is"),
     ({"header": USER, "proxies": ["0.0.0.0/0"]}, "proxies"), ({"header": USER, "proxies": ["::/0"]}, "proxies"),
     ({"header": USER, "proxies": "10.0.0.1"}, "a list, such as"), ({"header": USER, "proxies": ["proxy"]}, "proxies"),
     ({"header": 7, "proxies": ["::1"]}, "header is 7"), ({"users": 7}, "users is 7"),
     ({"provider": "x"}, "a Provider"), ({"users": "u", "secret_file": b"x"}, "secret_file is"),
     ({"viewers": [""]}, "viewers"), ({"users": "a\0b"}, "users")],
)  # fmt: skip
def test_settings_that_cannot_work_or_would_let_anybody_in_are_refused(settings, why):
    with pytest.raises(ConfigError, match=why):
        Access(**settings)
