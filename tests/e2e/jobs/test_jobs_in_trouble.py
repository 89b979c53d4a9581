"""Workers as processes of their own, whose disk is full, whose log goes away, whose clocks are set, that are of two
versions, share an id, or are all killed.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.backends.logs.walk import between
from callboard.messages.jobs.job_messages import JOB_MESSAGES, JobsAddedMessage
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import read
from callboard.messages.topics import job_topic
from callboard.testing.servers.postgres import postgres_server
from tests import stepped_clock
from tests.e2e.conftest import Terminal
from tests.e2e.jobs.test_job_commands import until

SERVICE = """
import asyncio
from pathlib import Path

from pydantic import BaseModel

from callboard import JobRegistry

old, new = JobRegistry(), JobRegistry()


class Name(BaseModel):
    name: str


class FullName(BaseModel):
    first: str
    last: str


@old.job("mark")
async def mark(word: str) -> None:
    with Path("marks.txt").open("a") as file:
        file.write(f"{word}\\n")


@old.job("hold")
async def hold(file: str) -> None:
    await mark(f"holds {file}")
    while not Path(file).exists():
        await asyncio.sleep(0.01)


@old.job("greet")
async def greet(name: Name) -> str:
    return name.name


@old.job("goodbye")
async def goodbye(name: Name) -> str:
    return name.name


@new.job("greet")
async def greet_in_full(name: FullName) -> str:
    return f"{name.first} {name.last}"


@new.job("welcome")
async def welcome(name: FullName) -> str:
    return f"{name.first} {name.last}"
"""

LOG_LINES_MAX = 20
"""What a worker says in a trouble of some seconds, which it would say thousands of times if it did not wait."""


@pytest.fixture
def shop(newcomer: Terminal) -> Terminal:
    """A terminal in a folder with the jobs, whose members have a lease of 2.5 s; without a board."""
    (newcomer.folder / "shop.py").write_text(SERVICE)
    settings(newcomer, "sqlite:///./board.db")
    return newcomer


def settings(shop: Terminal, log: str) -> None:
    (shop.folder / "callboard.toml").write_text(f'log = "{log}"\nblobs = "./blobs"\n[member]\nprofile = "fast"\n')


def started(shop: Terminal, *words: str, jobs: str = "shop:old", member: str = "one") -> "subprocess.Popen[str]":
    """A worker, once it takes jobs."""
    said = f"{member}.txt"
    worker = shop.start("run", "worker", jobs, "--member", member, *words, said=said)
    until(lambda: "worker.started" in (shop.folder / said).read_text())
    return worker


def stopped(worker: "subprocess.Popen[str]") -> None:
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=60)
    assert worker.returncode == 0


def marks(shop: Terminal) -> Counter[str]:
    path = shop.folder / "marks.txt"
    return Counter(path.read_text().splitlines() if path.exists() else ())


def ticks(shop: Terminal, log: str) -> dict[str, list[int]]:
    """The ticks whose jobs are on the log, by schedule, in seconds since the epoch, in their order."""
    found: dict[str, list[int]] = {}

    async def look() -> None:
        async with Callboard(log, blobs="./blobs", base=shop.folder) as board:
            first, end = await board.context.log.bounds(job_topic())
            async for record in between(board.context.log, job_topic(), first, end):
                message = read(record, JOB_MESSAGES, check_message)
                if isinstance(message, JobsAddedMessage) and message.schedule:
                    found.setdefault(message.schedule, []).append(round(message.tick_ms / 1000))

    asyncio.run(look())
    return found


def test_doctor_says_so_when_all_workers_were_killed(shop: Terminal) -> None:
    shop.run("init")
    worker = started(shop)
    job = shop.json("jobs", "add", "hold", '"go"')["id"]
    until(lambda: marks(shop))
    assert shop.run("jobs", "workers").stderr == ""
    assert "1; one dispatches" in shop.out("doctor")
    worker.kill()
    worker.communicate()
    until(lambda: "problem: none of the workers is alive" in shop.run("jobs", "workers").stderr)
    assert "none of the workers is alive" in shop.run("doctor", code=1).stdout
    (shop.folder / "go").touch()
    after = started(shop, member="two")
    until(lambda: shop.json("jobs", "show", str(job))["state"] == "succeeded")
    assert "1; two dispatches" in shop.out("doctor")
    stopped(after)


def test_the_second_of_two_workers_with_one_id_is_told_and_no_job_runs_twice(shop: Terminal) -> None:
    shop.run("init")
    worker = started(shop)
    shop.run("jobs", "add", "hold", '"go"')
    until(lambda: marks(shop))
    second = shop.run("run", "worker", "shop:old", "--member", "one", code=4)
    assert "two processes run as one: " in second.stderr
    assert "stop one, or give it another id" in second.stderr
    assert "worker.started" not in second.stderr
    for number in range(5):
        shop.run("jobs", "add", "mark", f'"{number}"')
    (shop.folder / "go").touch()
    until(lambda: not shop.json("jobs")["items"])
    assert marks(shop) == {"holds go": 1} | {str(number): 1 for number in range(5)}
    stopped(worker)


def test_jobs_wait_for_a_worker_of_the_version_that_knows_them_and_the_others_are_told_apart(shop: Terminal) -> None:
    shop.run("init")
    shop.run("jobs", "configure", "greetings", "greet", "--delay", "0.1", "--delay-max", "0.1", "--retries", "-1")
    full = '{"first": "Ann", "last": "Lee"}'
    with_field = shop.json("jobs", "add", "greet", full)["id"]
    renamed = shop.json("jobs", "add", "welcome", full)["id"]
    former = started(shop, jobs="shop:old", member="old")
    assert shop.json("jobs", "add", "goodbye", '{"name": "Bob"}', "--wait", "60")["result"] == "Bob"
    until(lambda: shop.json("jobs", "show", str(with_field))["attempts"])  # what it does not know is not its end
    assert shop.json("jobs", "show", str(renamed))["parked"]
    assert "jobs wait that no worker runs: welcome (1)" in shop.run("doctor", code=1).stdout
    latter = started(shop, jobs="shop:new", member="new")
    until(lambda: shop.json("jobs", "show", str(renamed))["result"] == "Ann Lee")
    until(lambda: shop.json("jobs", "show", str(with_field))["state"] in ("succeeded", "queued", "active"))
    stopped(former)
    until(lambda: shop.json("jobs", "show", str(with_field))["result"] == "Ann Lee")
    removed = shop.json("jobs", "add", "goodbye", '{"name": "Cid"}')["id"]
    until(lambda: shop.json("jobs", "show", str(removed))["parked"])
    assert "queued, no worker runs its topic" in shop.out("jobs")
    assert "jobs wait that no worker runs: goodbye (1)" in shop.run("doctor", code=1).stdout
    assert shop.json("jobs", "show", str(with_field))["crashes"] == 0
    stopped(latter)


def away_and_back(shop: Terminal, log: str, leave: Callable[[], object], back: Callable[[], object]) -> None:
    """Schedules come due while the log is away: each makes up for its ticks by its policy, none twice."""
    settings(shop, log)
    shop.run("init")
    for name, catch_up in (("all", "1000"), ("last", "last"), ("skip", "skip")):
        shop.run("schedules", "set", name, "mark", f'"{name}"', "--every", "1", "--catch-up", catch_up)
    worker = started(shop)
    until(lambda: len(marks(shop)) == 3)
    lapses = (shop.folder / "one.txt").read_text().count("member.lapsed")  # on a busy machine
    leave()
    before, left_s = marks(shop), time.time()
    until(lambda: "dispatcher.failed" in (shop.folder / "one.txt").read_text())
    refused = shop.run("jobs", "add", "mark", '"lost"', code=2 if log.startswith("sqlite") else 4)
    assert "error: " in refused.stderr
    until(lambda: (shop.folder / "one.txt").read_text().count("member.lapsed") > lapses)
    until(lambda: time.time() > left_s + 3)  # ticks
    back()
    until(lambda: all(many > before[name] + 2 for name, many in marks(shop).items()))
    stopped(worker)
    its = ticks(shop, log)
    assert all(len(set(each)) == len(each) for each in its.values())
    assert its["all"] == list(range(its["all"][0], its["all"][-1] + 1))
    assert len(its["last"]) < len(its["all"])
    assert Counter({name: len(each) for name, each in its.items()}) >= marks(shop)
    said = (shop.folder / "one.txt").read_text().splitlines()
    assert len(said) < LOG_LINES_MAX, "\n".join(said)


def test_each_tick_is_accounted_for_once_when_the_log_was_moved_away_and_back(shop: Terminal) -> None:
    here, away = shop.folder / "board.db", shop.folder / "away"
    away_and_back(shop, "sqlite:///./board.db", lambda: here.rename(away), lambda: away.rename(here))


@pytest.mark.postgres
def test_each_tick_is_accounted_for_once_when_the_server_of_the_log_was_stopped(shop: Terminal) -> None:
    with postgres_server() as server:
        away_and_back(shop, server.url, server.kill, server.start)


@pytest.fixture
def small_disk(shop: Terminal) -> Iterator[Path]:
    """A file system of 4 MB."""
    place = shop.folder / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only the superuser can mount a file system, and not in every container")
    yield place
    shop.end()
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> None:
    with (place / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


def test_a_full_disk_refuses_jobs_and_loses_none_and_the_worker_goes_on_when_there_is_space(
    shop: Terminal, small_disk: Path
) -> None:
    settings(shop, "sqlite:///./small/board.db")
    shop.run("init")
    worker = started(shop)
    held = [shop.json("jobs", "add", "hold", '"go"')["id"] for _ in range(3)]
    until(lambda: marks(shop)["holds go"] == 3)
    fill(small_disk)
    used_s = cpu_s(worker.pid)
    refused = shop.refused("jobs", "add", "mark", f'"{"x" * 20_000}"', code=4)
    assert "the disk is full: free some space" in refused
    assert [job["id"] for job in shop.json("jobs")["items"]] == held, "what is there can be read"
    (shop.folder / "go").touch()
    until(lambda: "report.failed" in (shop.folder / "one.txt").read_text())
    until(lambda: "member.lapsed" in (shop.folder / "one.txt").read_text())
    assert "has 0 MB left" in shop.run("doctor", code=1).stdout
    assert cpu_s(worker.pid) - used_s < 2, "it tries again and again without a pause"
    (small_disk / "filler").unlink()
    until(lambda: not shop.json("jobs")["items"])
    ended = shop.json("jobs", "--all")["items"]
    assert [(job["id"], job["state"]) for job in ended] == [(job, "succeeded") for job in held]
    assert marks(shop) == {"holds go": 3}
    shop.run("jobs", "add", "mark", '"after"', "--wait", "60")
    stopped(worker)
    said = (shop.folder / "one.txt").read_text().splitlines()
    assert len(said) < LOG_LINES_MAX, "\n".join(said)


def cpu_s(process: int) -> float:
    """The seconds of processor time that the process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_clock_that_is_set_forward_and_back_repeats_no_tick_and_ends_no_job(
    shop: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = shop.folder / "clock"
    stepped_clock.step(clock, "+0")
    shop.run("init")
    shop.run("schedules", "set", "often", "mark", '"often"', "--every", "1")
    shop.run("schedules", "set", "twice", "mark", '"twice"', "--cron", "*/30 * * * *", "--catch-up", "5")
    late = shop.json("jobs", "add", "mark", '"late"', "--delay", "3000")["id"]
    held = shop.json("jobs", "add", "hold", '"go"')["id"]
    shop._environ |= stepped_clock.environment(clock)
    worker = started(shop)
    until(lambda: marks(shop)["often"] and marks(shop)["holds go"])
    stepped_clock.step(clock, "+1h")
    until(lambda: marks(shop)["late"] and marks(shop)["twice"] > 1)
    seen = marks(shop)["often"]
    until(lambda: marks(shop)["often"] > seen)
    stepped_clock.step(clock, "+0")
    shop.run("jobs", "add", "mark", '"now"', "--wait", "60")
    (shop.folder / "go").touch()
    until(lambda: shop.json("jobs", "show", str(held))["state"] == "succeeded")
    assert shop.json("jobs", "show", str(late))["state"] == "succeeded"
    told = shop.run("doctor", code=1).stdout
    assert "schedules whose last tick is yet to come, as a clock was set back: often, twice" in told
    stopped(worker)
    its = ticks(shop, "sqlite:///./board.db")
    assert its["twice"] == list(range(its["twice"][0], its["twice"][-1] + 1, 1800))
    assert all(len(set(each)) == len(each) for each in its.values())
    assert marks(shop)["holds go"] == marks(shop)["late"] == marks(shop)["now"] == 1
    assert marks(shop)["often"] <= len(its["often"])
