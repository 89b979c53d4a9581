"""``callboard console`` as an operator starts it, and as those see it who are let in, or not."""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from callboard import __version__
from tests import stepped_clock
from tests.e2e.conftest import DEADLINE_S, Terminal

PASSWORD = "correct horse"
ANYWHERE = ("--listen", "0.0.0.0:0")


@contextmanager
def console(terminal: Terminal, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of a console, and its URL."""
    process = terminal.start("console", *(words if "--listen" in words else ("--listen", "0", *words)), said="said")
    assert process.stdout
    line = process.stdout.readline()
    found = re.search(r"is at (\S+);", line)
    assert found, line + (terminal.folder / "said").read_text()
    yield process, found[1].replace("0.0.0.0", "127.0.0.1")


def get(url: str, **options: object) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=DEADLINE_S, **options)


def add(terminal: Terminal, name: str, role: str = "viewer", code: int = 0, password: str = PASSWORD) -> str:
    words = ("console", "add-user", name, "--role", role, "--users", "users", "--password-stdin")
    done = terminal.run(*words, code=code, given=f"{password}\n")
    return done.stdout + done.stderr


@contextmanager
def signed_in(url: str, name: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, trust_env=False, timeout=DEADLINE_S) as client:
        assert client.post("/sign-in", data={"name": name, "password": PASSWORD}).status_code == 303
        yield client


def test_an_operator_starts_it_looks_and_ends_it(terminal):
    with console(terminal) as (process, url):
        assert re.fullmatch(r"http://127.0.0.1:\d+/", url)
        assert "(operator)" in get(url).text
        assert get(url, headers={"Host": "evil.example"}).status_code == 403
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 0
    said = (terminal.folder / "said").read_text()
    assert "console.started" in said
    assert "console.stopped" in said
    assert "Traceback" not in said


def test_it_ends_at_once_even_while_pages_are_open(terminal):
    with console(terminal) as (process, url), httpx.Client(trust_env=False, timeout=DEADLINE_S) as client:
        with client.stream("GET", f"{url}live/") as stream:
            pieces = stream.iter_text()
            assert "event: page" in next(pieces)
            began_s = time.monotonic()
            process.terminate()
            with pytest.raises(httpx.HTTPError):
                list(pieces)
            assert process.wait(DEADLINE_S) == 0
        assert time.monotonic() - began_s < 10  # it waits for nothing; that is what the machine may be slow
    said = (terminal.folder / "said").read_text()
    assert "Traceback" not in said
    assert said.count("\n") == 2  # started and stopped


def test_it_creates_nothing(newcomer):
    assert "run `callboard init`" in newcomer.refused("console", "--listen", "0")
    assert not [each for each in newcomer.folder.iterdir() if each.name != "site"]


@pytest.mark.parametrize(
    ("words", "why"),
    [(ANYWHERE, "anybody could see the console"), (("--listen", "[::]:0"), "anybody could see the console"),
     (("--listen", "example.org:0"), "anybody could see the console"),
     ((*ANYWHERE, "--users", "users"), "set --tls-cert and --tls-key, or --trusted-proxy"),
     (("--trusted-header", "X-User"), "set trusted_proxies"),
     (("--trusted-header", "X-User", "--trusted-proxy", "0.0.0.0/0"), "proxies"),
     (("--trusted-proxy", "10.0.0.1"), "everybody would seem to be on this host"),
     (("--users", "users", "--trusted-header", "X-User", "--trusted-proxy", "10.0.0.1"), "exclude each other"),
     (("--users", "nothing"), "add-user NAME --role viewer --users"), (("--tls-cert", "x"), "set tls_cert and tls_key"),
     (("--tls-cert", "x", "--tls-key", "y"), "cannot be used"), (("--root-path", "callboard"), "root_path is"),
     (("--root-path", "/a/../b/"), "root_path is"), (("--listen", "localhost"), "should be [HOST:]PORT"),
     (("--listen", "99999"), "should be [HOST:]PORT"), (("--listen", "http://x:1"), "should be [HOST:]PORT"),
     (("--log", "memory:"), "a log in memory")],
)  # fmt: skip
def test_it_refuses_what_is_not_safe_or_cannot_work(terminal, words, why):
    add(terminal, "ann")
    listen = () if "--listen" in words else ("--listen", "0")
    assert why in terminal.refused("console", *listen, *words)


def test_a_port_that_is_taken_is_named(terminal):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in terminal.refused("console", "--listen", str(port))


def test_everything_can_be_set_in_the_file_and_mistakes_there_are_named(terminal):
    file = terminal.folder / "callboard.toml"
    file.write_text('[console]\nlisten = "0"\nusers = "users"\nallow_actions = true\nroot_path = "/ops"\n')
    add(terminal, "ann", "operator")
    with console(terminal, "--listen", "localhost:0") as (_, url):
        assert url.endswith("/ops/")
        answer = get(url)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ops/sign-in?next=%2F")
    file.write_text('[console]\nport = 1\n')
    assert "unknown key 'port' in [console]" in terminal.refused("console")
    file.write_text('[console]\noidc_discovery = "https://id.example/x"\n')
    assert "oidc_client_id and oidc_secret_file" in terminal.refused("console")
    file.write_text('[console]\nviewers = ["ann"]\n')
    assert "remove them" in terminal.refused("console")


def test_beyond_this_host_users_sign_in_through_a_proxy_that_speaks_https(terminal):
    assert add(terminal, "ann", "operator") == "added operator ann in ./users\n"
    with console(terminal, *ANYWHERE, "--users", "users", "--trusted-proxy", "127.0.0.1") as (process, url):
        with signed_in(url, "ann") as ann:
            assert "ann (operator)" in ann.get("/").text
            assert add(terminal, "ann", "viewer") == "changed viewer ann in ./users\n"  # noticed while it runs
            assert ann.get("/").status_code == 303
        with signed_in(url, "ann") as ann:
            assert "ann (viewer)" in ann.get("/").text
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    said = (terminal.folder / "said").read_text()
    assert said.count("signin.succeeded") == 2
    assert PASSWORD not in said


def test_a_session_ends_after_a_working_day_even_while_a_page_is_open(terminal, monkeypatch):
    add(terminal, "ann")
    clock = terminal.folder / "clock"
    stepped_clock.step(clock, "+0")
    for name, value in stepped_clock.environment(clock).items():
        terminal._environ[name] = value
    with console(terminal, "--users", "users") as (_, url), signed_in(url, "ann") as ann:
        with ann.stream("GET", "/live/") as stream:
            pieces = stream.iter_text()
            assert "event: page" in next(pieces)
            stepped_clock.step(clock, "+13h")
            for _ in pieces:  # it ends
                pass
        answer = ann.get("/live/")
        assert (answer.status_code, answer.json()["diagnostics"][0]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [("ann --role viewer --password-stdin", PASSWORD, "name one by --users FILE"),
     ("ann --role viewer --users users", "", "add --password-stdin"),
     ("ann --role admin --users users --password-stdin", PASSWORD, "--role"),
     ("ann --users users --password-stdin", PASSWORD, "--role"),
     ("a:b --role viewer --users users --password-stdin", PASSWORD, "cannot be a user's name"),
     ("ann --role viewer --users users --password-stdin", "short", "use 8 to 1000"),
     ("ann --role viewer --users users --password-stdin", "", "use 8 to 1000"),
     ("ann --role viewer --users no/users --password-stdin", PASSWORD, "there is no folder")],
)  # fmt: skip
def test_a_user_that_cannot_be_added_is_refused_with_what_to_do(newcomer, words, given, why):
    assert why in newcomer.refused("console", "add-user", *words.split(), given=given)
    assert not (newcomer.folder / "users").exists()


@pytest.mark.parametrize(("again", "code"), [(PASSWORD, 0), ("correct house", 2)])
def test_a_password_is_asked_for_twice_and_not_shown(newcomer, again, code):
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "callboard", "console", "add-user", "ann", "--role", "viewer", "--users", "users"]
    process = subprocess.Popen(
        words, cwd=newcomer.folder, env=newcomer._environ, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    for asked, typed in ((b"Password of ann: ", PASSWORD), (b"Again: ", again)):
        while asked not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, f"{typed}\n".encode())
    reading = threading.Thread(target=lambda: _drain(ours))  # or the process would wait for its last words to be read
    reading.start()
    assert process.wait(DEADLINE_S) == code
    reading.join()
    os.close(ours)
    assert PASSWORD.encode() not in shown
    assert (newcomer.folder / "users").exists() == (code == 0)


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 1000):
            pass
    except OSError:  # the other end is closed
        pass


def test_without_the_extra_the_command_that_installs_it_is_shown(terminal, tmp_path):
    blocked = tmp_path / "blocked"
    (blocked / "argon2").mkdir(parents=True)
    (blocked / "argon2" / "__init__.py").write_text("raise ImportError('no', name='argon2')")
    root = Path(__file__).resolve().parents[3]
    done = terminal.run("console", "--listen", "0", code=2, PYTHONPATH=f"{blocked}:{root}")
    assert "pip install 'callboard[web]'" in done.stderr


def test_help_and_other_commands_do_not_load_the_web(terminal):
    script = (
        "import sys; from callboard.cli.run_command import run; sys.argv = ['callboard', *sys.argv[1:]]; run();"
        "print([it for it in sys.modules if it.partition('.')[0] in {'starlette', 'uvicorn', 'jinja2', 'argon2'}])"
    )
    for words in (("status",), ("console", "--help"), ("console", "add-user", "--help"), ("--version",)):
        done = subprocess.run(
            [sys.executable, "-c", script, *words], cwd=terminal.folder, env=terminal._environ, capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        assert done.stdout.endswith("[]\n"), done.stdout
    assert __version__ in done.stdout
