"""The service in docs/console.md runs as it is written there, and its figures are those of the code."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from callboard import http_server
from callboard.web.console.live import QUIET_S
from callboard.web.signin import attempts, forms, guard, sessions

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "console.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
DEADLINE_S = 60.0


def test_the_service_shows_the_console_to_those_whom_it_knows(tmp_path):
    (tmp_path / "service.py").write_text(PROGRAMS["service.py"])
    (words,) = re.findall(r"^uvicorn (service:app .*)$", TEXT, re.MULTILINE)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        command = [sys.executable, "-m", "uvicorn", *words.split(), "--fd", str(listening.fileno())]
        process = subprocess.Popen(
            command, cwd=tmp_path, pass_fds=[listening.fileno()], env=os.environ | {"NO_COLOR": "1"}, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/callboard/"
            page = httpx.get(url, headers={"x-user": "ann"}, timeout=DEADLINE_S, trust_env=False)
            assert "ann (operator)" in page.text
            assert httpx.get(url, timeout=DEADLINE_S, trust_env=False).status_code == 401
            with httpx.stream("GET", f"{url}live/", headers={"x-user": "bob"}, timeout=30, trust_env=False) as stream:
                assert "event: page" in next(stream.iter_text())
                began_s = time.monotonic()
                process.terminate()
                process.wait(DEADLINE_S)
                assert time.monotonic() - began_s < DEADLINE_S / 2
        finally:
            process.kill()
            process.wait()


def test_the_figures_are_those_of_the_code():
    assert f"A session lasts {sessions.LASTS_S / 3600:g} hours" in WORDS
    assert "After five failures" in WORDS
    assert (attempts.FREE, attempts.WAIT_MAX_S) == (5, 60)
    assert f"nothing is sent for {QUIET_S:g} seconds" in WORDS
    assert f"good once, for {forms.VALID_S / 60:g} minutes" in WORDS
    limits = f"to {http_server.HEADERS_BYTES_MAX >> 10} kB, bodies to {guard.BODY_BYTES_MAX >> 20} MB, connections to"
    assert f"Headers are limited {limits} {http_server.CONNECTIONS_MAX};" in WORDS
    assert f"that does not send or read for {http_server.HEADERS_S:g} seconds" in WORDS
