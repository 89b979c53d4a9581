"""Jobs at the command line: added, run by a worker, looked at and commanded, and as they are mistyped."""

import signal
import subprocess
import time
from typing import Any
from urllib.request import urlopen

import pytest

from callboard import QueueSettings
from callboard.testing.servers.network import free_port
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


def start(shop: Terminal, *words: str, jobs: tuple[str, ...] = ("shop:jobs",)) -> "subprocess.Popen[str]":
    """A worker, once it takes jobs."""
    worker = shop.start("run", "worker", *jobs, "--member", "one", *words, said="worker.txt")
    said = shop.folder / "worker.txt"
    until(lambda: "worker.started" in said.read_text())
    return worker


@pytest.mark.proves("J94")
def test_jobs_that_no_worker_runs_are_listed_and_commanded(shop: Terminal) -> None:
    assert "no job waits or runs" in shop.out("jobs")
    assert shop.json("jobs", "list") == {"items": [], "after": -1}
    assert "there is no worker" in shop.out("jobs", "workers")
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
    assert shop.json("jobs", "list", "--state", "all") == shop.json("jobs", "--all")
    again = shop.json("jobs", "retry", str(first["id"]))
    assert (again["payload"], again["title"]) == ({"to": "ann"}, first["title"])


def test_queues_are_configured_suspended_and_watched(shop: Terminal) -> None:
    made = shop.json("jobs", "configure", "mails", "mail/**", "--parallel", "2", "--retries", "0")
    assert made["topics"] == ["mail/**"]
    shop.run("jobs", "configure", "mails", "mail/**", "--compat", "--parallel", "2")
    shop.run("jobs", "add", "mail/send")
    assert shop.out("jobs", "suspend", "mails") == "mails is suspended\n"
    queues = {each["name"]: each for each in shop.json("jobs", "queues")}
    assert (queues["mails"]["queued"], queues["mails"]["suspended"], queues["main"]["queued"]) == (1, True, 0)
    assert "no queue 'mials' is configured or has had jobs; did you mean 'mails'?" in shop.refused(
        "jobs", "suspend", "mials"
    )
    for words in ("list", "drop-all", "retry-all"):
        assert "no queue 'mials' is" in shop.refused("jobs", words, "--queue", "mials")
        why = "no job of a topic 'mial/send' was ever added; did you mean 'mail/send'?"
        assert why in shop.refused("jobs", words, "--topic", "mial/send")
    assert why in shop.refused("jobs", "events", "--once", "--topic", "mial/send")
    assert "no queue 'mials' is configured; did you mean 'mails'?" in shop.refused(
        "jobs", "configure", "mials", "--remove"
    )
    watching = shop.start("jobs", "watch")
    assert watching.stdout is not None
    seen = [watching.stdout.readline() for _ in range(2)]
    assert "mails: 1 queued, 0 active, 1 parked, 0 ended, suspended\n" in seen
    shop.run("jobs", "resume", "mails")
    assert watching.stdout.readline() == "mails: 1 queued, 0 active, 1 parked, 0 ended\n"
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=DEADLINE_S)
    shop.run("jobs", "configure", "mails", "--remove")
    assert {each["name"]: each["queued"] for each in shop.json("jobs", "queues")} == {"main": 1}


@pytest.mark.proves("J99")
def test_a_worker_runs_jobs_and_lets_those_that_run_end_when_it_is_stopped(shop: Terminal) -> None:
    port = free_port()
    worker = start(shop, "--slots", "2", "--listen", str(port))
    sent = shop.out("jobs", "add", "mail/send", '{"to": "ann"}', "--wait", "60")
    assert 'result: "sent to ann"' in sent
    ended = shop.json("jobs", "add", "refuse", "--wait", "60", code=1)
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
    [listed] = shop.json("jobs", "workers")
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE_S) as answer:
        assert 'callboard_jobs{queue="main",state="active"} 1.0\n' in answer.read().decode()
    assert (listed["instance"], listed["slots"], listed["running"], listed["dispatches"]) == ("one", 2, 1, True)
    assert "mail/send refuse wait/file" in shop.out("jobs", "workers")
    worker.send_signal(signal.SIGTERM)
    (shop.folder / "there").touch()
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0
    assert "worker.stopped" in (shop.folder / "worker.txt").read_text()
    assert shop.json("jobs", "show", str(running["id"]))["result"] == "seen"
    told = shop.out("log", "list", "--topic", "job")
    for words in (
        "adds 1 of mail/send", "one: runs 2 at a time of callboard/publish, mail/send, refuse, wait/file",
        "dispatches from now on", f"leases {running['id']} to", f"has ended {running['id']}", f"stop {stopped}",
        "runs no more",
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
    with (shop.folder / "callboard.toml").open("a") as settings:
        settings.write('[worker]\njobs = "shop:jobs"\ndrain_s = 0.1\ndeny = "mail/**"\n')
    worker = start(shop, jobs=())
    until(lambda: shop.json("jobs", "workers"))
    [its] = shop.json("jobs", "workers")
    assert (its["instance"], its["deny"]) == ("one", ["mail/**"])
    job = shop.json("jobs", "add", "wait/file", '"there"')["id"]
    until((shop.folder / "begun").exists)
    worker.send_signal(signal.SIGTERM)
    until(lambda: shop.json("jobs", "show", str(job))["state"] == "queued")
    (shop.folder / "there").touch()
    worker.communicate(timeout=DEADLINE_S)
    assert worker.returncode == 0
    found = shop.json("jobs", "show", str(job))
    assert (found["state"], found["attempts"], found["crashes"]) == ("queued", 0, 0)


def test_all_settings_of_a_queue_have_an_option(shop: Terminal) -> None:
    numbers = "parallel cluster-parallel retries delay delay-max growth crashes timeout quiet rate period keep ranking"
    words = [word for name in (*numbers.split(), "keep-failed") for word in (f"--{name}", "7")]
    words += ["--order", "ordered", "--no-retry-exceptions", "--tag", "gpu", "--tag", "big", "--prefer-creator"]
    made = shop.json("jobs", "configure", "mails", "mail/*", *words)
    assert made.keys() - {"queue", "removed", "topics"} == QueueSettings.__annotations__.keys()
    assert (made["growth"], made["tags"], made["retry_exceptions"], made["prefer_creator"]) == (
        7, ["gpu", "big"], False, True,
    )  # fmt: skip


def test_a_worker_does_not_run_what_it_is_to_deny(shop: Terminal) -> None:
    worker = shop.start("run", "worker", "shop:jobs", "--deny", "mail/*", "--deny", "refuse", said="worker.txt")
    until(lambda: shop.json("jobs", "workers"))
    [found] = shop.json("jobs", "workers")
    assert (found["deny"], found["live"]) == (["mail/*", "refuse"], True)
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=DEADLINE_S)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("jobs", "show", "1"), "there is no job 1; `callboard jobs list --all`"),
        (("jobs", "retry", "1"), "there is no such job"),
        (("jobs", "add", "a b"), "topic is 'a b', but should be words"),
        (("jobs", "add", "a", "{to: ann}"), "the payload is no JSON: Expecting property name"),
        (("jobs", "list", "--state", "running"), "--state is 'running', but should be one of queued"),
        (("jobs", "configure", "mails"), "name the topics of the queue, or --remove it"),
        (("jobs", "configure", "mails", "a b"), "topics"),
        (("jobs", "configure", "mails", "a", "--growth", "0.5"), "'--growth': Input should be greater than"),
        (("jobs", "configure", "mails", "a", "--tag", ""), "tags[0] is '', but should be 1 to 200 characters"),
        (("run", "worker", "shop:jobs", "--deny", "a//b"), "deny[0] is 'a//b', but should be a topic, or a pattern"),
        (("run", "worker", "shop:jobs", "--deny", "mial/send"), "which it is to deny; did you mean 'mail/send'?"),
        (("jobs", "configure", "2/mails", "a"), "name is '2/mails', but should be letters, digits, spaces"),
        (("jobs", "configure", "mails", "a", "--period", "60"), "a period of 60 s limits nothing without a rate"),
        (("jobs", "configure", "mails", "a", "--delay", "9", "--delay-max", "3"), "the delay of 9 s is above the most"),
        (("jobs", "list", "--where", "size=>3"), "'size=>3' is no condition; write a property, one of"),
        (("jobs", "list", "--where", "size!=3"), "'size!=3' is no condition"),
        (("jobs", "list", "--where", ">=3"), "'>=3' is no condition"),
        (("jobs", "drop-all"), "say which jobs, with --topic, --queue or --where; --topic '**' means all"),
        (("jobs", "ad"), "Did you mean 'add'"),
        (("run", "worker"), "there is nothing to run; name a JobRegistry"),
        (("run", "worker", "shop:job"), "the jobs at 'shop:job' cannot be imported: AttributeError"),
        (("run", "worker", "shop:number"), "shop:number is 7; name a JobRegistry, or a dict of functions by topic"),
    ],
    ids=" ".join,
)
def test_what_is_mistyped_is_refused(shop: Terminal, words: tuple[str, ...], text: str) -> None:
    assert text in shop.refused(*words)


def test_a_wait_that_is_refused_adds_no_job(shop: Terminal) -> None:
    assert "--wait is 1e+300, but should be a number" in shop.refused("jobs", "add", "a", "--wait", "1e300")
    assert shop.json("jobs", "list", "--all")["items"] == []


def test_a_list_that_is_at_its_end_says_so(shop: Terminal) -> None:
    job = shop.json("jobs", "add", "a")["id"]
    assert shop.out("jobs", "list", "--after", str(job)) == f"no job comes after {job}\n"


def test_many_jobs_are_found_and_commanded_at_once(shop: Terminal) -> None:
    shop.run("jobs", "configure", "mails", "mail/*", "--rate", "5", "--period", "60")
    ids = [shop.json("jobs", "add", "mail/send", f'{{"to": "ann", "size": {size}}}')["id"] for size in (1, 5, 9)]
    after = shop.json("jobs", "add", "other", "--after", str(ids[0]), "--after", str(ids[1]))
    assert (after["waits_for"], shop.json("jobs", "show", str(after["id"]))["after"]) == (2, ids[:2])
    assert "waits for 2 jobs" in shop.out("jobs", "show", str(after["id"]))

    def found(*words: str) -> list[int]:
        return [each["id"] for each in shop.json("jobs", "list", *words)["items"]]

    assert found("--queue", "mails", "--where", "size >= 5", "--where", "to=ann") == ids[1:]
    assert found("--where", "to=bob") == []
    assert "no condition" in shop.refused("jobs", "list", "--where", "size")
    assert shop.out("jobs", "drop-all", "--topic", "mail/**", "--where", "size>5") == "dropped: 1\n"
    assert "say which jobs" in shop.refused("jobs", "drop-all")
    assert shop.json("jobs", "clear", "mails") == {"removed": 2}
    assert found("--state", "history") == [after["id"], ids[2]]
    assert shop.json("jobs", "retry-all", "--queue", "mails") == {"added_again": 0}
    stats = shop.json("jobs", "stats")
    assert (stats["total"]["dropped"], stats["queues"]["mails"]["queued"]) == (4, 0)
    assert "topic mail/send" in shop.out("jobs", "stats")
    plan = shop.json("jobs", "add", "mail/send", "--dry-run")
    assert (plan["queue"], plan["rate"], plan["workers"], plan["refused"]) == ("mails", 5, [], "")
    assert "refused: topic is" in shop.run("jobs", "add", "a b", "--dry-run", code=1).stdout
