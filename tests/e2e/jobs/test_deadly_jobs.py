"""Jobs that bring down what runs them: a worker, or only a process of their own; and workers that are killed."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DEADLINE_S, Terminal

SERVICE = """
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from callboard import JobRegistry

jobs = JobRegistry()


def tell() -> None:
    Path("new").write_text(str(os.getpid()))
    Path("new").rename("process")


@jobs.job("poison")
def poison() -> None:
    os._exit(3)


@jobs.job("fine")
def fine(number: int) -> int:
    return number + 1


@jobs.job("process/exit", process=True, retries=1)
def leave() -> None:
    os._exit(4)


@jobs.job("process/hang", process=True)
def hang() -> None:
    tell()
    ctypes.PyDLL(None).sleep(600)


@jobs.job("process/freeze", process=True)
def freeze() -> None:
    tell()
    os.kill(os.getpid(), signal.SIGSTOP)


@jobs.job("process/wait", process=True)
def wait() -> str:
    tell()
    while not Path("go on").exists():
        time.sleep(0.02)
    return "to the end"
"""


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    (terminal.folder / "shop.py").write_text(SERVICE)
    (terminal.folder / "callboard.toml").write_text('[worker]\njobs = "shop:jobs"\n[member]\nprofile = "fast"\n')
    return terminal


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not (met := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return met


def start(shop: Terminal, name: str) -> "subprocess.Popen[str]":
    """A worker, once it takes jobs."""
    said = shop.folder / f"{name}.txt"
    said.unlink(missing_ok=True)
    worker = shop.start("run", "worker", "--member", name, said=said.name)
    until(lambda: worker.poll() is not None or (said.exists() and "worker.started" in said.read_text()))
    return worker


def process(shop: Terminal) -> int:
    """The process that runs a job."""
    until((shop.folder / "process").exists)
    return int((shop.folder / "process").read_text())


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.proves("J69")
def test_a_job_that_ends_every_worker_is_given_up_and_the_others_run(shop: Terminal) -> None:
    shop.run("jobs", "configure", "deadly", "poison", "--crashes", "2")
    workers = {name: start(shop, name) for name in ("one", "two")}
    job = shop.json("jobs", "add", "poison")["id"]
    others = [shop.json("jobs", "add", "fine", str(number))["id"] for number in range(5)]
    died = 0

    def state() -> Any:
        """The job, while workers that have died are started again."""
        nonlocal died
        for name, worker in workers.items():
            if worker.poll() is not None:
                assert worker.returncode == 3
                died += 1
                workers[name] = start(shop, name)
        return shop.json("jobs", "show", str(job))

    until(lambda: state()["state"] == "given_up")
    assert (state()["crashes"], state()["attempts"]) == (2, 0)
    assert died in (2, 3), "the first crash does not count if the log did not have yet that the job ran"
    for number, each in enumerate(others):
        until(lambda each=each, its=f"result: {number + 1}\n": its in shop.out("jobs", "show", str(each)))
    assert state()["state"] == "given_up"
    assert died in (2, 3)


def test_a_job_that_ends_its_own_process_costs_the_worker_nothing(shop: Terminal) -> None:
    worker = start(shop, "one")
    done = shop.run("jobs", "add", "process/exit", "--retries", "1", "--wait", "60", "--json", code=1)
    assert '"its process ended with exit code 4"' in done.stdout
    assert "job.process_ended" in (shop.folder / "one.txt").read_text()
    assert "result: 2" in shop.out("jobs", "add", "fine", "1", "--wait", "60")
    assert worker.poll() is None


@pytest.mark.parametrize("topic", ["process/hang", "process/freeze"])
def test_no_process_of_a_job_outlives_its_worker(shop: Terminal, topic: str) -> None:
    worker = start(shop, "one")
    shop.run("jobs", "add", topic)
    running = process(shop)
    worker.kill()
    until(lambda: not is_alive(running))


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_that_is_stopped_at_the_terminal_lets_processes_end_their_jobs(shop: Terminal, end: int) -> None:
    worker = start(shop, "one")
    job = shop.json("jobs", "add", "process/wait")["id"]
    running = process(shop)
    assert os.getpgid(running) != os.getpgid(worker.pid), "the terminal signals all processes of a group"
    worker.send_signal(end)
    until(lambda: shop.json("jobs", "workers")[0]["slots"] == 0)
    Path(shop.folder / "go on").touch()
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0
    assert shop.json("jobs", "show", str(job))["result"] == "to the end"
    assert not is_alive(running)
