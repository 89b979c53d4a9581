"""Jobs at the command line: added, run by a worker, looked at and commanded, and as they are mistyped."""

import json
import signal
import subprocess
import time
from typing import Any

import pytest

from tests.e2e.conftest import DEADLINE_S, Terminal

SERVICE = """
import time
from pathlib import Path

from pydantic import BaseModel

from callboard import CancelJob, JobRegistry, RunningJob


class Mail(BaseModel):
    to: str


jobs = JobRegistry()


@jobs.job("mail/send")
async def send(mail: Mail) -> str:
    return f"sent to {mail.to}"


@jobs.job("refuse")
def refuse() -> None:
    raise CancelJob("no such \\x1b[1m address")


@jobs.job("wait/file")
def wait_for_file(name: str, job: RunningJob) -> str:
    Path("begun").touch()
    while not Path(name).exists() and not job.stopping.is_set():
        time.sleep(0.01)
    if job.stopping.is_set():
        raise CancelJob("as it was told")
    return "seen"


number = 7
"""


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    (terminal.folder / "shop.py").write_text(SERVICE)
    return terminal


def until(condition: Any) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start(shop: Terminal, *words: str) -> "subprocess.Popen[str]":
    """A worker, once it takes jobs."""
    worker = shop.start("run", "worker", "shop:jobs", "--member", "one", *words, said="worker.txt")
    said = shop.folder / "worker.txt"
    until(lambda: "worker.started" in said.read_text())
    return worker


def test_jobs_that_no_worker_runs_are_listed_and_commanded(shop: Terminal) -> None:
    assert "no job waits or runs" in shop.out("jobs")
    assert shop.json("jobs", "list") == {"items": [], "after": -1}
    first = shop.json("jobs", "add", "mail/send", '{"to": "ann"}', "--title", "a mail", "--unique", "ann")
    assert (first["state"], first["payload"]) == ("queued", {"to": "ann"})
    assert shop.json("jobs", "add", "mail/send", '{"to": "bob"}', "--unique", "ann")["id"] == first["id"]
    later = shop.json("jobs", "add", "mail/later", "--delay", "3600")["id"]
    listed = shop.out("jobs")
    assert "queued, no worker runs its topic" in listed
    assert "due in 60 min" in listed
    assert "\x1b" not in listed
    page = shop.json("jobs", "list", "--newest", "--limit", "1")
    assert ([each["id"] for each in page["items"]], page["after"]) == ([later], later)
    assert f"there is more: --after {first['id']}" in shop.out("jobs", "list", "--limit", "1")
    shown = shop.out("jobs", "show", str(first["id"]))
    assert 'payload: {"to": "ann"}' in shown
    assert "unique: ann" in shown
    assert shop.out("jobs", "stop", str(later)) == f"stopped: {later}\n"
    done = shop.run("jobs", "drop", str(first["id"]), str(later), code=1)
    assert (done.stdout, done.stderr) == (f"dropped: {first['id']}\n", f"ended before, or unknown: {later}\n")
    assert [each["state"] for each in shop.json("jobs", "--all")["items"]] == ["dropped", "stopped"]
    again = shop.json("jobs", "retry", str(first["id"]))
    assert (again["payload"], again["title"]) == ({"to": "ann"}, first["title"])


def test_queues_are_configured_suspended_and_watched(shop: Terminal) -> None:
    made = shop.json("jobs", "configure", "mails", "mail/**", "--parallel", "2", "--retries", "0")
    assert made["topics"] == ["mail/**"]
    shop.run("jobs", "add", "mail/send")
    assert shop.out("jobs", "suspend", "mails") == "mails is suspended\n"
    queues = {each["name"]: each for each in shop.json("jobs", "queues")}
    assert (queues["mails"]["queued"], queues["mails"]["suspended"], queues["main"]["queued"]) == (1, True, 0)
    assert "no queue 'mials' is configured or has had jobs; did you mean 'mails'?" in shop.refused(
        "jobs", "suspend", "mials"
    )
    shop.run("jobs", "suspend", "mials", "--expect")
    shop.run("jobs", "resume", "mials")
    watching = shop.start("jobs", "watch")
    assert watching.stdout is not None
    seen = [watching.stdout.readline() for _ in range(2)]
    assert "mails: 1 queued, 0 active, 1 parked, 0 ended, suspended\n" in seen
    shop.run("jobs", "resume", "mails")
    assert watching.stdout.readline() == "mails: 1 queued, 0 active, 1 parked, 0 ended\n"
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=DEADLINE_S)
    assert "mails" in shop.out("jobs", "watch", "--once")
    shop.run("jobs", "configure", "mails", "--remove")
    assert {each["name"]: each["queued"] for each in shop.json("jobs", "queues")} == {"main": 1}


def test_a_worker_runs_jobs_and_lets_those_that_run_end_when_it_is_stopped(shop: Terminal) -> None:
    worker = start(shop, "--slots", "2")
    sent = shop.out("jobs", "add", "mail/send", '{"to": "ann"}', "--wait", "60")
    assert 'result: "sent to ann"' in sent
    refused = shop.run("jobs", "add", "refuse", "--wait", "60", "--json", code=1)
    ended = json.loads(refused.stdout)
    assert (ended["state"], ended["message"]) == ("error", "no such \x1b[1m address")
    assert "\x1b" not in shop.out("jobs", "show", str(ended["id"]))
    stopped = shop.json("jobs", "add", "wait/file", '"never"')["id"]
    until((shop.folder / "begun").exists)
    shop.run("jobs", "stop", str(stopped))
    until(lambda: shop.json("jobs", "show", str(stopped))["state"] == "stopped")
    (shop.folder / "begun").unlink()
    late = shop.run("jobs", "add", "wait/file", '"there"', "--wait", "0.1", code=1)
    assert "has not ended after 0.1 s" in late.stderr
    until((shop.folder / "begun").exists)
    [running] = shop.json("jobs", "list", "--state", "active")["items"]
    assert running["worker"] == "one"
    worker.send_signal(signal.SIGTERM)
    (shop.folder / "there").touch()
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0
    assert "worker.stopped" in (shop.folder / "worker.txt").read_text()
    assert shop.json("jobs", "show", str(running["id"]))["result"] == "seen"
    told = shop.out("log", "list", "--topic", "job")
    for words in (
        "adds 1 of mail/send", "one: runs 2 at a time of mail/send, refuse, wait/file", "dispatches from now on",
        f"leases {running['id']} to", f"has ended {running['id']}", f"stop {stopped}", "runs no more",
    ):  # fmt: skip
        assert words in told
    assert "callboard.job" in shop.json("doctor")["topics"][-1]["topic"]


def added_and_run(newcomer: Terminal, log: str) -> None:
    """What every log has to be good for."""
    (newcomer.folder / "shop.py").write_text(SERVICE)
    (newcomer.folder / "callboard.toml").write_text(f'log = "{log}"\nblobs = "./blobs"\n')
    newcomer.run("init")
    assert newcomer.json("jobs", "list") == {"items": [], "after": -1}
    worker = start(newcomer)
    assert "sent to ann" in newcomer.out("jobs", "add", "mail/send", '{"to": "ann"}', "--wait", "60")
    [queue] = newcomer.json("jobs", "queues")
    assert (queue["ended"], queue["topics"]) == (1, ["mail/send"])
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0


@pytest.mark.postgres
def test_jobs_are_added_and_run_on_postgres(newcomer: Terminal, place_on_postgres: tuple[str, str]) -> None:
    added_and_run(newcomer, place_on_postgres[1])


@pytest.mark.kafka
def test_jobs_are_added_and_run_on_kafka(newcomer: Terminal, place_on_kafka: tuple[str, str]) -> None:
    added_and_run(newcomer, place_on_kafka[1])


def test_a_job_that_outlives_the_drain_is_given_back(shop: Terminal) -> None:
    worker = start(shop, "--drain", "0.1")
    job = shop.json("jobs", "add", "wait/file", '"there"')["id"]
    until((shop.folder / "begun").exists)
    worker.send_signal(signal.SIGTERM)
    until(lambda: shop.json("jobs", "show", str(job))["state"] == "queued")
    (shop.folder / "there").touch()
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0
    found = shop.json("jobs", "show", str(job))
    assert (found["state"], found["attempts"], found["crashes"]) == ("queued", 0, 0)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("jobs", "show", "1"), "there is no job 1; `callboard jobs list --all`"),
        (("jobs", "retry", "1"), "there is no such job"),
        (("jobs", "add", "a b"), "topic is 'a b', but should be words"),
        (("jobs", "add", "a", "{to: ann}"), "the payload is no JSON: Expecting property name"),
        (("jobs", "list", "--state", "running"), "but should be"),
        (("jobs", "configure", "mails"), "name the topics of the queue, or --remove it"),
        (("jobs", "configure", "mails", "a b"), "topics"),
        (("jobs", "ad"), "Did you mean 'add'"),
        (("run", "worker", "shop:job"), "the jobs at 'shop:job' cannot be imported: AttributeError"),
        (("run", "worker", "shop:number"), "shop:number is 7; name a JobRegistry, or a dict of functions by topic"),
    ],
    ids=" ".join,
)
def test_what_is_mistyped_is_refused(shop: Terminal, words: tuple[str, ...], text: str) -> None:
    assert text in shop.refused(*words)
