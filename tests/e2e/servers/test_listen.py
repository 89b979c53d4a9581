"""``--listen`` of long-running commands: metrics and health over HTTP, and what is mistyped."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from callboard.testing.servers.network import free_port
from callboard.testing.servers.postgres import postgres_server
from tests.e2e.conftest import DEADLINE_S, Terminal

JOBS = "jobs = {'mail': print}\n"
SOON_S = 20.0
"""Metrics of a log that is away may take eight seconds, and a busy machine has others."""


def answer(port: int, path: str) -> tuple[int, str]:
    """The status, and the text; 0 if nothing answers."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE_S) as found:
            return found.status, found.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except URLError:
        return 0, ""


def until(process: subprocess.Popen[str], met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not met():
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_publisher_and_subscriber_tell_how_they_are(terminal: Terminal, runtime: str) -> None:
    (terminal.folder / "callboard.toml").write_text(f'runtime = "{runtime}"\n[subscriber]\nready_idle_s = 0\n')
    terminal.run("publish", "./site")
    its, others = free_port(), free_port()
    publisher = terminal.start("run", "publisher", "main", "--listen", str(its), said="publisher.txt")
    edge = terminal.start(
        "run", "subscriber", "edge-1", "--into", "./out", "--listen", f"127.0.0.1:{others}", said="edge.txt"
    )
    until(publisher, lambda: answer(its, "/readyz")[0] == 200)
    until(edge, lambda: answer(others, "/readyz")[0] == 200)
    assert terminal.until("edge-1", lambda row: row["ready"])
    for port, kind, name in ((its, "publisher", "main"), (others, "subscriber", "edge-1")):
        assert answer(port, "/livez") == (200, "ok\n")
        [part] = json.loads(answer(port, "/healthz")[1])["data"]["parts"]
        assert (part["kind"], part["name"], part["ready"]) == (kind, name, True)
    until(edge, lambda: "edge-1" in answer(its, "/metrics")[1])
    assert 'packages_total{status="imported",subscriber="edge-1"} 1.0\n' in answer(its, "/metrics")[1]
    own = answer(others, "/metrics")[1]
    assert 'callboard_subscriber_import_duration_seconds_count{subscriber="edge-1"} 1.0\n' in own
    with socket.create_connection(("127.0.0.1", its)), socket.create_connection(("127.0.0.1", others)):
        for process in (publisher, edge):  # although somebody is connected
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=DEADLINE_S)
            assert process.returncode == 0


def test_a_worker_is_ready_as_a_member_that_takes_jobs(terminal: Terminal) -> None:
    (terminal.folder / "shop.py").write_text(JOBS)
    terminal.run("jobs", "add", "mail")
    port = free_port()
    worker = terminal.start("run", "worker", "shop:jobs", "--metrics-port", str(port), said="worker.txt")
    until(worker, lambda: answer(port, "/readyz")[0] == 200)
    [part] = json.loads(answer(port, "/healthz")[1])["data"]["parts"]
    assert (part["kind"], part["state"]) == ("worker", "working")
    assert "callboard_job_workers 1.0\n" in answer(port, "/metrics")[1]
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0


@pytest.mark.parametrize(
    "where",
    ["", "x", "65536", "-1", "1e3", "9100x", "٩١٠٠", ":9100", "0.0.0.0:", "a b:9100", "http://0.0.0.0:9100",
     "[::1:9100", "::1:9100", "host:0", "9" * 5000, "\u202e:9100", "user@host:1"],
)  # fmt: skip
def test_a_wrong_address_is_refused_before_anything_starts(newcomer: Terminal, where: str) -> None:
    for words in (("publisher", "main"), ("subscriber", "edge-1", "--into", "./out"), ("worker", "shop:jobs")):
        said = newcomer.refused("run", *words, "--create", f"--listen={where}")
        assert "--listen is '" in said
        assert "but should be [HOST:]PORT, such as 9100, 0.0.0.0:9100 or [::1]:9100" in " ".join(said.split())
    assert not (newcomer.folder / "board.db").exists()


def test_a_port_that_is_taken_is_an_error_and_0_turns_it_off(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = terminal.refused("run", "publisher", "main", "--listen", str(port))
        assert f"cannot listen on 127.0.0.1:{port}" in said
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up", "--metrics-port", "0")


def test_without_the_extra_the_command_that_installs_it_is_shown_before_anything_starts(
    newcomer: Terminal, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hidden = tmp_path_factory.mktemp("hidden")
    (hidden / "uvicorn.py").write_text("raise ModuleNotFoundError('no uvicorn', name='uvicorn')\n")
    path = os.pathsep.join((str(hidden), os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[3])))
    done = newcomer.run("run", "publisher", "main", "--create", "--listen", "9100", code=2, PYTHONPATH=path)
    assert "needs uvicorn; run: pip install 'callboard[web]'" in " ".join(done.stderr.split())
    assert not (newcomer.folder / "board.db").exists()


@pytest.mark.postgres
def test_a_log_that_is_away_makes_nothing_ready_but_all_stays_alive(newcomer: Terminal) -> None:
    port, other = free_port(), free_port()
    with postgres_server() as server:
        log = ("--log", server.url, "--blobs", "./blobs", "--create")
        publisher = newcomer.start("run", "publisher", "main", "--listen", str(port), *log, said="publisher.txt")
        edge = newcomer.start(
            "run", "subscriber", "edge-1", "--into", "./out", "--listen", str(other), *log, said="edge.txt"
        )
        until(publisher, lambda: answer(port, "/readyz")[0] == 200)
        until(edge, lambda: answer(other, "/metrics")[0] == 200)
        server.kill()
        for each, process in ((port, publisher), (other, edge)):
            until(process, lambda each=each: answer(each, "/metrics")[0] == 503)
            until(process, lambda each=each: "check that it runs" in answer(each, "/readyz")[1])
            assert answer(each, "/livez")[0] == 200
            began_s = time.monotonic()
            status, said = answer(each, "/metrics")
            assert time.monotonic() - began_s < SOON_S
            assert status == 503
            assert "check that it runs" in said
            assert json.loads(answer(each, "/healthz")[1])["diagnostics"][0]["code"] == "log_unavailable"
        server.start()
        until(publisher, lambda: answer(port, "/readyz")[0] == 200)
        until(publisher, lambda: answer(port, "/metrics")[0] == 200)
        newcomer.end()
