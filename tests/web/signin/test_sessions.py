import pytest
from starlette.requests import Request
from starlette.responses import Response

from callboard.web.signin.sessions import COOKIE, ENDED_MAX, LASTS_S, Sessions
from callboard.web.user import User

SECRET = b"s" * 32


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def asked(cookie: str = "") -> Request:
    return Request({"type": "http", "scheme": "http", "path": "/", "root_path": "", "query_string": b"", "server": None,
                    "headers": [(b"cookie", f"{COOKIE}={cookie}".encode())]})  # fmt: skip


def begun(sessions: Sessions, name: str = "ann") -> str:
    response = Response()
    sessions.begin(asked(), response, name, "operator", "proof")
    return response.headers["set-cookie"].partition("=")[2].partition(";")[0]


def test_a_session_says_who_signed_in_and_no_two_are_the_same():
    sessions = Sessions(SECRET, "settings")
    one, two = sessions.of(asked(begun(sessions))), sessions.of(asked(begun(sessions)))
    assert one.user() == User("ann", "operator", one.id)
    assert one.proof == "proof"
    assert one.id != two.id


def test_a_session_ends_after_a_working_day():
    clock = Clock()
    sessions = Sessions(SECRET, "settings", clock)
    cookie = begun(sessions)
    clock.now += LASTS_S - 1
    assert sessions.of(asked(cookie))
    clock.now += 1
    assert sessions.of(asked(cookie)) is None


@pytest.mark.parametrize("change", [lambda it: "", lambda it: it[:-1], lambda it: it + "x", lambda it: "x" + it,
                                    lambda it: it.replace(".", ""), lambda it: "." + it.partition(".")[2]])  # fmt: skip
def test_an_altered_cookie_is_no_session(change):
    sessions = Sessions(SECRET, "settings")
    assert sessions.of(asked(change(begun(sessions)))) is None


def test_a_session_counts_only_under_the_settings_and_the_secret_that_it_began_with():
    cookie = begun(Sessions(SECRET, "settings"))
    assert Sessions(SECRET, "settings").of(asked(cookie))
    assert Sessions(SECRET, "others").of(asked(cookie)) is None
    assert Sessions(b"t" * 32, "settings").of(asked(cookie)) is None


def test_what_is_remembered_of_ended_sessions_is_bounded():
    clock = Clock()
    sessions = Sessions(SECRET, "settings", clock)
    sessions._ended = {str(number): int(clock.now) + LASTS_S for number in range(ENDED_MAX)}
    cookie = begun(sessions)
    sessions.end(asked(cookie), Response())
    assert sessions.of(asked(cookie)) is None
    assert len(sessions._ended) == ENDED_MAX
    clock.now += LASTS_S
    sessions.end(asked(begun(sessions)), Response())
    assert len(sessions._ended) == 1
