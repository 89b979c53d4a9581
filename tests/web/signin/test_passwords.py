"""Users with passwords: they sign in on a page, or send name and password with each request to the API."""

import asyncio
import itertools
import re
import threading

import pytest
import structlog

from callboard.errors import ConfigError
from callboard.web.signin import guard, passwords
from callboard.web.signin.access import Access
from callboard.web.signin.attempts import FREE, Attempts
from tests.web.signin.consoles import JSON_401, browser, console, diagnostic, line, problem, run, sign_in, users_file


@run
async def test_a_user_signs_in_looks_and_signs_out(tmp_path):
    async with console(access=Access(users=users_file(tmp_path))) as ann:
        sent_on = await ann.get("/?behind=1")
        assert (sent_on.status_code, sent_on.headers["location"]) == (303, "/sign-in?next=%2F%3Fbehind%3D1")
        asked = await ann.get(sent_on.headers["location"])
        assert (asked.status_code, problem(asked)) == (200, "")
        (on,) = re.findall(r'name="next" value="(.*?)"', asked.text)
        signed_in = await sign_in(ann, next=on)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/?behind=1")
        page = await ann.get("/?behind=1")
        assert "ann (operator)" in page.text
        cookie = dict(ann.cookies)
        assert (await ann.post("/sign-out")).headers["location"] == "/sign-in"
        assert not ann.cookies
        assert (await ann.get("/")).status_code == 303
        async with browser(str(ann.base_url), cookies=cookie) as thief:
            assert (await thief.get("/")).status_code == 303  # a copy of the cookie has ended, too


@run
async def test_the_cookie_is_only_for_this_site_and_no_script(tmp_path):
    access = Access(users=users_file(tmp_path), proxies=("127.0.0.1",))
    async with console(access=access, root_path="/ops") as ann:
        for scheme in ("http", "https"):
            ann.headers["X-Forwarded-Proto"] = scheme
            header = (await sign_in(ann)).headers["set-cookie"]
            assert "HttpOnly" in header
            assert "SameSite=lax" in header
            assert "Path=/ops;" in header
            assert "Max-Age=43200" in header
            assert ("Secure" in header) == (scheme == "https")


@run
async def test_who_is_not_signed_in_gets_a_page_to_do_so_and_a_program_json(tmp_path):
    async with console(access=Access(users=users_file(tmp_path))) as nobody:
        for path in ("/live/", "/live/nowhere", "/api/v1/status", "/api/"):
            answer = await nobody.get(path)
            assert (answer.status_code, diagnostic(answer)) == (401, JSON_401)
            assert ("www-authenticate" in answer.headers) == path.startswith("/api/")
        assert (await nobody.get("/api/v1/x?next=//evil")).status_code == 401
        assert (await nobody.get("/nowhere")).status_code == 303
        assert (await nobody.get("/actions/x", headers={"HX-Request": "true"})).headers["hx-refresh"] == "true"
        assert (await nobody.post("/anything")).status_code == 401
        assert (await nobody.get("/static/console.css")).status_code == 200
        assert (await nobody.get("/static/../signin/users")).status_code == 303
        for path in ("/sign-inside", "/sign-in/", "/sign-in/x", "/sign-out/x", "/static"):
            assert (await nobody.get(path)).status_code == 303


@pytest.mark.parametrize(
    "there",
    ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example",
     "javascript:x", "/ /evil.example", "", "evil", "/\n/evil.example", "///evil", "/x\r\nSet-Cookie: a=b",
     "/" + "x" * 5000, "/é"],
)  # fmt: skip
@run
async def test_nobody_is_sent_on_to_another_site(tmp_path, there):
    async with console(access=Access(users=users_file(tmp_path)), root_path="/ops") as ann:
        asked = await ann.get("/sign-in", params={"next": there})
        assert 'name="next" value="/"' in asked.text
        assert (await sign_in(ann, next=there)).headers["location"] == "/ops/"


@pytest.mark.parametrize(
    ("name", "password"),
    [("ann", "wrong"), ("ann", ""), ("", ""), ("eve", "ann12345"), ("ANN", "ann12345"), ("ann\0", "ann12345"),
     ("x" * 9000, "ann12345"), ("<script>", "\ud7ff"), ("ann", "ann12345\0")],
)  # fmt: skip
@run
async def test_a_wrong_name_or_password_gets_no_further_and_is_logged_without_the_password(tmp_path, name, password):
    async with console(access=Access(users=users_file(tmp_path))) as someone:
        with structlog.testing.capture_logs() as lines:
            answer = await sign_in(someone, name, password or " ")
        assert (answer.status_code, problem(answer)) == (401, "the name or the password is wrong")
        assert "set-cookie" not in answer.headers
        assert [each["event"] for each in lines] == ["signin.refused"]
        assert password in ("", "wrong") or password not in str(lines).replace(name, "")
        assert (lines[0]["client"], len(lines[0]["user"]) <= 1200) == ("127.0.0.1", True)


@run
async def test_a_password_is_in_no_log_line(tmp_path):
    async with console(access=Access(users=users_file(tmp_path))) as ann:
        with structlog.testing.capture_logs() as lines:
            await sign_in(ann, password="wrong-secret")
            await sign_in(ann)
            await ann.post("/sign-out")
        assert [each["event"] for each in lines] == ["signin.refused", "signin.succeeded", "signin.ended"]
        assert "secret" not in str(lines)
        assert "12345" not in str(lines)


@run
async def test_a_viewer_looks_and_does_not_act(tmp_path):
    async with console(access=Access(users=users_file(tmp_path)), allow_actions=True) as bob:
        await sign_in(bob, "bob")
        assert "bob (viewer)" in (await bob.get("/")).text
        page = await bob.post("/")
        assert (page.status_code, problem(page)) == (403, "bob may look, but not act; that needs the role operator")
        answer = await bob.delete("/api/v1/anything")
        assert (answer.status_code, diagnostic(answer)["code"]) == (403, "forbidden")
        assert (await bob.post("/sign-out")).status_code == 303
        await sign_in(bob, "ann")
        assert (await bob.post("/")).status_code == 405


@run
async def test_nobody_is_signed_in_by_another_site(tmp_path):
    async with console(access=Access(users=users_file(tmp_path))) as victim:
        for path in ("/sign-in", "/sign-out"):
            fields = {"name": "ann", "password": "ann12345"}
            answer = await victim.post(path, data=fields, headers={"Origin": "https://evil.example"})
            assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


@run
async def test_the_file_of_users_counts_as_it_is_now(tmp_path):
    path = users_file(tmp_path)
    async with console(access=Access(users=path)) as ann, browser(str(ann.base_url)) as bob:
        await sign_in(ann)
        await sign_in(bob, "bob")
        users_file(tmp_path, line("ann", "operator"))
        assert (await bob.get("/")).status_code == 303
        assert (await ann.get("/")).status_code == 200
        users_file(tmp_path, line("ann", "viewer"), line("eve", "viewer"))
        assert (await ann.get("/")).status_code == 303  # in her other role she signs in again
        assert (await sign_in(bob, "eve")).status_code == 303
        assert (await bob.get("/")).status_code == 200
        with structlog.testing.capture_logs() as lines:
            users_file(tmp_path, line("eve", "viewer"), "broken")
            assert (await bob.get("/")).status_code == 303
            assert (await bob.get("/")).status_code == 303
        assert [each["event"] for each in lines] == ["users.not_read"]
        users_file(tmp_path, line("eve", "viewer"))
        assert (await bob.get("/")).status_code == 200
        users_file(tmp_path, line("eve", "viewer"), mode=0o644)
        assert (await bob.get("/")).status_code == 303
        (tmp_path / "users").rename(tmp_path / "gone")
        assert (await sign_in(bob, "eve")).status_code == 401


@run
async def test_a_stream_ends_when_its_user_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "STREAM_S", 0.0)
    async with console(access=Access(users=users_file(tmp_path))) as bob:
        await sign_in(bob, "bob")
        async with bob.stream("GET", "/live/") as stream:
            pieces = stream.aiter_text()
            assert "event: page" in await anext(pieces)
            users_file(tmp_path, line("ann", "operator"))
            assert "event: page" not in "".join([each async for each in pieces])
        assert diagnostic(await bob.get("/live/")) == JSON_401


@pytest.fixture
def time_stands_still(monkeypatch):
    monkeypatch.setattr(passwords, "Attempts", lambda clock: Attempts(lambda: 1000.0))


@run
async def test_after_five_failures_one_has_to_wait_and_longer_each_time(tmp_path, time_stands_still):
    async with console(access=Access(users=users_file(tmp_path))) as guesser:
        answers = [await sign_in(guesser, password=f"guess {number}") for number in range(FREE + 1)]
        assert [each.status_code for each in answers] == [401] * FREE + [429]
        assert answers[-1].headers["retry-after"] == "1"
        assert problem(answers[-1]) == "too many attempts have failed; try again in 1 s"
        assert (await sign_in(guesser)).status_code == 429  # even with the right password
        basic = await guesser.get("/api/v1/status", auth=("bob", "bob12345"))  # and from there under any name
        assert (basic.status_code, diagnostic(basic)["code"]) == (429, "throttled")


@run
async def test_behind_a_proxy_each_client_is_counted_by_itself(tmp_path, time_stands_still):
    async with console(access=Access(users=users_file(tmp_path), proxies=("127.0.0.0/8",))) as guesser:

        async def status(name: str, *forwarded_for: str, password: str = "") -> int:
            guesser.headers["X-Forwarded-For"] = ", ".join(forwarded_for)
            return (await sign_in(guesser, name, password)).status_code

        # what stands before the address that the proxy saw is the client's own invention
        found = [await status(f"eve{number}", f"9.9.9.{number}", "203.0.113.1") for number in range(FREE + 1)]
        assert found == [401] * FREE + [429]
        assert await status("ann", "203.0.113.1", password="ann12345") == 429
        assert await status("ann", "203.0.113.2", "127.0.0.9", password="ann12345") == 303
        found = [await status(f"joe{number}", f"2001:db8::{number}") for number in range(FREE + 1)]
        assert found == [401] * FREE + [429]  # of IPv6 one has a whole network


@run
async def test_many_guesses_at_once_do_not_get_past_the_limit_nor_occupy_the_processors(tmp_path, time_stands_still):
    async with console(access=Access(users=users_file(tmp_path))) as guesser:
        together = [sign_in(guesser, password=f"guess {number}") for number in range(60)]
        codes = [each.status_code for each in await asyncio.gather(*together)]
        assert sorted(set(codes)) == [401, 429]
        assert codes.count(401) == FREE


@run
async def test_at_most_two_passwords_are_verified_at_once_and_few_wait(tmp_path, monkeypatch):
    running, go_on, sent = [], threading.Event(), 80

    def verified(digest: str, password: str) -> bool:
        running.append(digest)
        go_on.wait()
        return False

    monkeypatch.setattr(passwords, "_is_right", verified)
    async with console(access=Access(users=users_file(tmp_path), proxies=("127.0.0.1",))) as proxy:

        async def from_(number: int) -> int:
            data, address = {"name": f"eve{number}", "password": "x"}, f"198.51.100.{number}"
            return (await proxy.post("/sign-in", data=data, headers={"X-Forwarded-For": address})).status_code

        answers = [asyncio.ensure_future(from_(number)) for number in range(sent)]
        taken = passwords.AT_ONCE_MAX + passwords.WAITING_MAX
        for answer in itertools.islice(asyncio.as_completed(answers), sent - taken):
            assert await answer == 503
        assert len(running) == passwords.AT_ONCE_MAX
        go_on.set()
        assert sorted(await asyncio.gather(*answers)) == [401] * taken + [503] * (sent - taken)


@run
async def test_an_unknown_user_takes_as_long_as_a_known_one(tmp_path):
    """Counted by what is verified: a clock would depend on what else this host does."""
    verified = []
    real = passwords._is_right
    async with console(access=Access(users=users_file(tmp_path))) as someone:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(passwords, "_is_right", lambda *given: verified.append(given[0]) or real(*given))
            await sign_in(someone, "ann", "wrong")
            await sign_in(someone, "nobody", "wrong")
    assert len(verified) == 2
    assert all(each.startswith("$argon2id$") for each in verified)
    assert "m=65536,t=3,p=4" in verified[1]  # as those that add-user writes


@run
async def test_a_program_sends_name_and_password_to_the_api_and_nowhere_else(tmp_path, monkeypatch):
    verified = []
    real = passwords._is_right
    monkeypatch.setattr(passwords, "_is_right", lambda *given: verified.append(given) or real(*given))
    path = users_file(tmp_path)
    async with console(access=Access(users=path)) as program:
        together = [program.get("/api/v1/nothing", auth=("bob", "bob12345")) for _ in range(10)]
        assert {each.status_code for each in await asyncio.gather(*together)} == {404}
        assert len(verified) == 1  # then it is remembered
        assert (await program.get("/", auth=("bob", "bob12345"))).status_code == 303
        assert (await program.get("/live/", auth=("bob", "bob12345"))).status_code == 401
        wrong = await program.get("/api/v1/nothing", auth=("bob", "bob12346"))
        assert (wrong.status_code, diagnostic(wrong)["message"]) == (401, "the name or the password is wrong")
        assert wrong.headers["www-authenticate"].startswith("Basic ")
        assert (await program.post("/api/v1/nothing", auth=("bob", "bob12345"))).status_code == 403
        users_file(tmp_path, line("bob", "viewer", "another one"))
        assert (await program.get("/api/v1/nothing", auth=("bob", "bob12345"))).status_code == 401
        assert (await program.get("/api/v1/nothing", auth=("bob", "another one"))).status_code == 404


@pytest.mark.parametrize("header", ["Basic", "Basic !", "Basic Og", "Bearer x", "Basic AAA", "basic /w==", "x"])
@run
async def test_a_broken_authorization_is_refused(tmp_path, header):
    async with console(access=Access(users=users_file(tmp_path))) as program:
        answer = await program.get("/api/v1/x", headers={"Authorization": header})
        assert (answer.status_code, diagnostic(answer)["code"]) == (401, "unauthorized")


@run
async def test_processes_with_the_same_secret_know_each_others_sessions(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef" * 2)
    secret.chmod(0o600)
    access = Access(users=users_file(tmp_path), secret_file=str(secret))
    alone = Access(users=access.users)
    async with console(access=access) as one, console(access=access) as two, console(access=alone) as three:
        await sign_in(one)
        for other, status in ((two, 200), (three, 303)):
            other.cookies = one.cookies
            assert (await other.get("/")).status_code == status


def test_a_secret_that_can_be_guessed_or_read_is_refused(tmp_path):
    secret = tmp_path / "secret"
    for text, mode, why in (("short", 0o600, "can be guessed"), ("x" * 32, 0o644, "chmod 600")):
        secret.write_text(text)
        secret.chmod(mode)
        with pytest.raises(ConfigError, match=why):
            run(_open)(Access(users=users_file(tmp_path), secret_file=str(secret)))


async def _open(access: Access) -> None:
    async with console(access=access):
        pass
