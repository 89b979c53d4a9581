"""The programs in docs/jobs.md run as they are written there, and its numbers are those of the code."""

import asyncio
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, NewJobOptions, QueueSettings, RunningJob
from callboard.board.jobs.work.processes import STOP_S
from callboard.board.member.options import PROFILES
from callboard.door.jobs import JOBS_MAX
from callboard.messages.jobs.job_messages import JobQueue
from tests.e2e.conftest import DEADLINE_S, Terminal

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "jobs.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = [shlex.split(line, comments=True)[1:] for line in re.findall(r"^\$ (callboard .*)$", TEXT, re.MULTILINE)]
USUAL = JobQueue(name="")


def test_the_jobs_of_the_document_are_run_by_the_worker_of_the_document(newcomer: Terminal) -> None:
    for name, text in PROGRAMS.items():
        (newcomer.folder / name).write_text(text)
    init, worker, *others = COMMANDS
    newcomer.run(*init)
    newcomer.start(*worker, said="worker.txt")
    deadline = time.monotonic() + DEADLINE_S
    while "worker.started" not in (newcomer.folder / "worker.txt").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    order = [sys.executable, "order.py"]
    done = subprocess.run(order, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert done.stdout == "mail/send SUCCEEDED sent to ann@example.org\nreport/build SUCCEEDED 30\n"
    watching = [sys.executable, "watching.py"]
    done = subprocess.run(watching, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert done.stdout == "added False \ndropped True not today\ndropped True\n"
    *said, dropped = [newcomer.out(*command) for command in others]
    assert '"reason": "not today"' in dropped
    assert "sent to cid@example.org" in said[0]
    assert "due in 60 min" in said[1]
    assert said[-1] == "mails is suspended\n"


def test_a_function_of_the_document_runs_in_a_process_of_its_own(newcomer: Terminal) -> None:
    (newcomer.folder / "figures.py").write_text(PROGRAMS["figures.py"])
    newcomer.run("init")
    newcomer.start("run", "worker", "figures:jobs", said="worker.txt")
    assert "result: 285" in newcomer.out("jobs", "add", "figures/compute", "10", "--wait", "60")
    assert f"is killed if it still runs {STOP_S:g} s later" in " ".join(TEXT.split())


def test_the_schedules_of_the_document_can_be_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)

    async def within() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            await names["schedule"](board)
            assert [each.name for each in await board.jobs.schedules()] == ["nightly", "prices"]

    asyncio.run(within())
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["nightly", "prices", "sale"]


def test_the_timers_of_the_document_are_called(newcomer: Terminal) -> None:
    (newcomer.folder / "timers.py").write_text(PROGRAMS["timers.py"])
    run = [sys.executable, "timers.py"]
    done = subprocess.run(run, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert done.stdout == "each member\n"


def test_the_job_of_the_document_goes_on_where_it_was() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAMS["convert.py"], names)
    job = RunningJob(1, "a", 2, 0)
    job.save(2)
    names["convert"](4, job)
    said = job.report()
    assert (job.saved, said.step, said.steps, said.lines) == (4, 4, 4, ("page 2", "page 3"))


def test_the_tests_of_the_document_pass(newcomer: Terminal) -> None:
    for name in ("shop.py", "test_shop.py", "conftest.py"):
        (newcomer.folder / name).write_text(PROGRAMS[name])
    (newcomer.folder / "test_fixture.py").write_text("def test_fixture(job_board): assert not job_board.added('**')")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=tmp"]
    done = subprocess.run(run, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert "3 passed" in done.stdout, done.stdout


def test_the_workflow_of_the_document_runs(newcomer: Terminal) -> None:
    (newcomer.folder / "flow.py").write_text(PROGRAMS["flow.py"])
    run = [sys.executable, "flow.py"]
    done = subprocess.run(run, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert done.stdout == "many: [200, 300, 400]\n[{'size': 4}]\n4\n"


def test_the_lines_of_the_document_have_their_context(newcomer: Terminal) -> None:
    (newcomer.folder / "logs.py").write_text(PROGRAMS["logs.py"])
    run = [sys.executable, "logs.py"]
    done = subprocess.run(run, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert "event='mail.sent' topic='mail/send' attempt=1 request_id='r-1'" in done.stdout
    assert "{'request_id': 'r-1'}\n" in done.stdout
    assert "secret" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        f"adds up to {JOBS_MAX:,} at once",
        f"again {USUAL.retries} times, first after {USUAL.delay_ms // 1000} s, then after twice as long",
        f"After {USUAL.crashes} crashes of workers",
        f"its lease ran out ({PROFILES['default'].lease_s:g} s)",
    ],
)
def test_the_numbers_in_the_document_match_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())
    assert (USUAL.growth_percent, USUAL.delay_max_ms) == (200, 3_600_000)
    assert (USUAL.keep_ms, USUAL.keep_failed_ms) == (3_600_000, 7 * 86_400_000)


def test_every_option_and_every_call_is_documented() -> None:
    options = {*NewJobOptions.__annotations__, *QueueSettings.__annotations__}
    assert [name for name in options if f"`{name}`" not in TEXT] == []
    calls = re.findall(r"board\.jobs\.(\w+)", TEXT)
    jobs = Callboard("memory:").jobs
    assert {"add_all", "wait", "worker", "get"} <= set(calls)
    assert [call for call in calls if not hasattr(jobs, call)] == []
