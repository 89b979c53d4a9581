"""Functions that run in processes of their own: what they can do, and what they cannot do to their worker."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, ConfigError, Job, JobRegistry, JobState
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.work import processes, progress
from callboard.board.jobs.work.worker import Worker
from callboard.testing.jobs.job_board import JobBoard
from tests.unit.board.jobs.processes import functions
from tests.unit.board.jobs.test_jobs import run
from tests.unit.board.jobs.test_running import until
from tests.unit.board.member.clusters import eventually


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is reported at once."""
    monkeypatch.setattr(progress, "EVERY_S", 0.01)


def work(folder: Path, scenario: Callable[[BoardJobs, Worker], Awaitable[None]], **options: Any) -> None:
    """Play this with a worker that has one slot, so that jobs follow each other in one process."""
    before = descriptors()

    async def within(jobs: BoardJobs) -> None:
        await jobs.configure("quick", ["**"], retries=0, ranking=-1)
        async with jobs.worker(functions.jobs, **{"slots": 1, "drain_s": 0, **options}) as worker:
            await scenario(jobs, worker)

    run(folder, within)
    assert descriptors() == before


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def oom_score(process: int) -> int:
    return int(Path(f"/proc/{process}/oom_score_adj").read_text())


async def ended(jobs: BoardJobs, topic: str, payload: object = None, **options: Any) -> Job:
    return await jobs.wait((await jobs.add(topic, payload, **options)).id)


async def told(folder: Path) -> list[int]:
    """The ids of processes that a function has told."""
    await eventually((folder / "processes").exists)
    return [int(each) for each in (folder / "processes").read_text().split()]


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.proves("J48")
def test_functions_run_one_after_another_in_the_main_thread_of_a_process_that_ends_with_the_worker(
    tmp_path: Path,
) -> None:
    seen = list[Any]()

    async def scenario(jobs: BoardJobs, _: Worker) -> None:
        assert (await ended(jobs, "thread")).result == os.getpid()
        seen.extend([(await ended(jobs, "who")).result for _ in range(3)])
        assert (await ended(jobs, "send", functions.Mail(to="ann"))).result == {"to": "ann send 1"}
        assert "validation error for Mail" in (await ended(jobs, "send", {"of": "ann"})).message
        assert oom_score(seen[0][0]) > oom_score(os.getpid()), "it is killed first when memory runs out"

    work(tmp_path, scenario)
    assert seen == [[seen[0][0], os.getpid(), True]] * 3
    assert seen[0][0] != os.getpid()
    assert is_gone(seen[0][0])


@pytest.mark.parametrize(
    ("topic", "payload", "message"),
    [
        ("exit", 0, "its process ended with exit code 0"),
        ("exit", 1, "its process ended with exit code 1"),
        ("signal", signal.SIGKILL, "its process was ended by signal 9, Killed; maybe it took too much memory"),
        ("signal", signal.SIGTERM, "its process was ended by signal 15, Terminated"),
        ("segfault", None, "its process was ended by signal 11, Segmentation fault"),
        ("memory", None, "MemoryError: "),
        ("raise", "bug", "ValueError: a bug"),
        ("raise", "retry", "not yet"),
        ("raise", "exit", "SystemExit: 3"),
        ("unfit", None, "the payload cannot be JSON: Object of type object is not JSON serializable"),
    ],
)
def test_what_kills_a_process_is_a_failed_attempt_and_the_worker_goes_on(
    tmp_path: Path, topic: str, payload: object, message: str
) -> None:
    async def scenario(jobs: BoardJobs, worker: Worker) -> None:
        await jobs.configure("again", [topic], retries=1, delay_s=0.01)
        found = await ended(jobs, topic, payload)
        assert (found.state, found.attempts, found.crashes) == (JobState.GIVEN_UP, 2, 0)
        assert found.message.startswith(message)
        await jobs.configure("once", [topic], retries=1, retry_exceptions=False, ranking=1)
        found = await ended(jobs, topic, payload)
        assert found.state is (JobState.GIVEN_UP if payload == "retry" else JobState.ERROR)
        assert (await ended(jobs, "who")).state is JobState.SUCCEEDED
        assert len(worker._slots.processes._alive) == 1

    work(tmp_path, scenario)


@pytest.mark.proves("J48", "J100")
@pytest.mark.parametrize("topic", ["hang", "freeze"])
@pytest.mark.parametrize("end", ["timeout", "quiet", "drop", "stop", "worker"])
def test_a_function_that_never_returns_is_killed_with_all_that_it_has_started(
    tmp_path: Path, topic: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_S", 0.05)
    started = list[int]()

    async def scenario(jobs: BoardJobs, _: Worker) -> None:
        if end == "quiet":
            await jobs.configure("watched", [topic], quiet_s=1, retries=0)
        job = await jobs.add(topic, str(tmp_path), timeout_s=1 if end == "timeout" else 0)
        started.extend(await told(tmp_path))
        if end == "worker":
            return
        if end == "stop":
            await jobs.stop(job.id)
        elif end == "drop":
            await jobs.drop(job.id)
        found = await jobs.wait(job.id)
        assert (found.state.name, found.message.partition(" and ")[0]) == {
            "timeout": ("GIVEN_UP", "it took longer than 1 s"), "drop": ("DROPPED", ""),
            "quiet": ("GIVEN_UP", "it reported no progress for 1 s"), "stop": ("STOPPED", "it was told to stop,"),
        }[end]  # fmt: skip
        assert (await ended(jobs, "who")).state is JobState.SUCCEEDED, "the slot is free again"
        await eventually(lambda: all(map(is_gone, started)))

    work(tmp_path, scenario)
    assert len(started) == (2 if topic == "hang" else 1)
    asyncio.run(eventually(lambda: all(map(is_gone, started))))


@pytest.mark.proves("J19", "J21")
def test_a_function_that_is_told_to_stop_can_do_so_itself(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, worker: Worker) -> None:
        job = await jobs.add("obey", str(tmp_path), timeout_s=600)
        [process] = await told(tmp_path)
        await jobs.stop(job.id)
        found = await jobs.wait(job.id)
        assert (found.state, found.message) == (JobState.STOPPED, "as it was told")
        again: Any = (await ended(jobs, "who")).result
        assert again[0] == process, "and its process is kept"

    work(tmp_path, scenario)


def test_reports_and_saved_values_come_from_other_processes(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, _: Worker) -> None:
        job = await jobs.add("report", str(tmp_path / "go on"), retries=1)
        found = await until(jobs, job.id, lambda found: found.progress and found.progress.log)
        assert found.progress is not None
        assert (found.progress.step, found.progress.steps, found.progress.log) == (2, 4, ("half",))
        (tmp_path / "go on").touch()
        found = await until(jobs, job.id, lambda found: found.attempts)
        assert found.progress is not None
        assert found.progress.step == 4
        assert found.progress.log[-1] == "999"
        assert found.progress.log[0] == "(901 earlier lines were cut)"
        assert (await jobs.wait(job.id)).result == {"done": 1}

    work(tmp_path, scenario)


def test_a_function_that_reports_is_not_quiet(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, _: Worker) -> None:
        await jobs.configure("watched", ["step", "freeze"], quiet_s=1, retries=0)
        stepping = await jobs.add("step", str(tmp_path / "go on"))
        assert (await ended(jobs, "freeze", str(tmp_path))).state is JobState.GIVEN_UP
        (tmp_path / "go on").touch()
        assert (await jobs.wait(stepping.id)).state is JobState.SUCCEEDED

    work(tmp_path, scenario, slots=2)


@pytest.mark.parametrize(
    ("topic", "payload", "state", "said"),
    [
        ("later", "succeed", JobState.SUCCEEDED, "by a thread"),
        ("later", "cancel", JobState.ERROR, "by a thread"),
        ("coroutine", None, JobState.SUCCEEDED, "awaited"),
        ("workers", None, JobState.SUCCEEDED, [1, 2]),
        ("fork", None, JobState.SUCCEEDED, "a parent"),
        ("close", None, JobState.GIVEN_UP, "its process ended with exit code 1"),
    ],
)
def test_functions_may_do_what_python_can(
    tmp_path: Path, topic: str, payload: object, state: JobState, said: object
) -> None:
    async def scenario(jobs: BoardJobs, _: Worker) -> None:
        for _ in range(2):
            found = await ended(jobs, topic, payload)
            assert (found.state, found.result or found.message) == (state, said)

    work(tmp_path, scenario)


def test_what_a_function_has_left_behind_is_not_taken_for_the_next_job(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, _: Worker) -> None:
        assert (await ended(jobs, "straggler", str(tmp_path / "go on"))).state is JobState.SUCCEEDED
        for _ in range(20):
            found = await ended(jobs, "who")
            assert (found.state, found.progress.log if found.progress else ()) == (JobState.SUCCEEDED, ())
        job = await jobs.add("report", str(tmp_path / "go on"), retries=1)
        await until(jobs, job.id, lambda found: found.progress and found.progress.log == ("half",))
        (tmp_path / "go on").touch()

    work(tmp_path, scenario)


def test_a_worker_has_no_more_processes_than_slots_and_another_one_for_each_that_was_killed(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, worker: Worker) -> None:
        alive = worker._slots.processes._alive
        for found in [await jobs.add("who") for _ in range(30)]:
            await jobs.wait(found.id)
        assert 1 <= len(alive) <= 3
        for process in tuple(alive):
            os.kill(process._process.pid, signal.SIGKILL)
        await eventually(lambda: not alive)
        assert (await ended(jobs, "who")).state is JobState.SUCCEEDED

    work(tmp_path, scenario, slots=3)


@pytest.mark.proves("J99")
def test_a_worker_that_stops_lets_functions_end_and_can_start_again(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        worker = jobs.worker(functions.jobs, drain_s=20)
        for _ in range(2):
            (tmp_path / "go on").unlink(missing_ok=True)
            async with worker:
                job = await jobs.add("step", str(tmp_path / "go on"))
                await until(jobs, job.id, lambda found: found.progress)
                stopping = asyncio.create_task(worker.stop())
                await eventually(lambda: worker._stopping)
                (tmp_path / "go on").touch()
                await stopping
            found = await jobs.get(job.id)
            assert found is not None
            assert found.state is JobState.SUCCEEDED

    run(tmp_path, scenario)


@pytest.mark.parametrize("pauses", range(12))
def test_nothing_is_left_of_a_process_whose_start_is_cancelled(tmp_path: Path, pauses: int) -> None:
    before = descriptors()

    async def scenario() -> None:
        its = processes.JobProcesses()
        start = asyncio.create_task(its._start())
        for _ in range(pauses):
            await asyncio.sleep(0)
        start.cancel()
        await asyncio.wait({start})
        await its.close()
        assert not its._alive

    asyncio.run(scenario())
    assert descriptors() == before  # and no process: see tests/conftest.py


def test_a_process_that_cannot_start_or_import_is_a_failed_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = JobRegistry()
    defined = registry.job("a", process=True, retries=0)(functions.unfit.function)

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker(registry):
            monkeypatch.setattr("sys.executable", "/nowhere/python")
            assert "No such file or directory: '/nowhere/python'" in (await ended(jobs, "a", retries=0)).message
            monkeypatch.undo()
            defined.reference = "no.such:function"
        async with jobs.worker(registry):
            assert (await ended(jobs, "a", retries=0)).message == "ModuleNotFoundError: No module named 'no'"
        monkeypatch.setattr(processes, "START_S", 0.0)
        async with jobs.worker(registry):
            assert "its module was not imported within 0 s" in (await ended(jobs, "a", retries=0)).message

    run(tmp_path, scenario)


def nested() -> Callable[[], None]:
    def function() -> None: ...

    return function


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda: None, "define it with `def` at the top of a module"),
        (nested(), "define it with `def` at the top of a module"),
        (partial(nested), "define it with `def` at the top of a module"),
        (functions.answer, "it is a coroutine, which runs on the event loop of its worker; define it with `def`"),
    ],
)
def test_a_function_that_no_other_process_can_import_is_refused_where_it_is_defined(
    function: Callable[[], Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        JobRegistry().job("a", process=True)(function)


def test_a_function_of_the_script_that_runs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions.who.function, "__module__", "__main__")
    with pytest.raises(ConfigError, match="cannot import the script that runs; define it in a module"):
        JobRegistry().job("a", process=True)(functions.who.function)
    with pytest.raises(ConfigError, match="process is 'yes'"):
        JobRegistry().job("a", process="yes")  # type: ignore[call-overload]


def test_a_defined_job_runs_in_a_process_also_from_a_dict(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=tmp_path) as board, board.jobs.worker({"x": functions.who}):
            result: Any = (await ended(board.jobs, "x")).result
            assert result[1] == os.getpid()

    asyncio.run(scenario())


def test_the_board_for_tests_raises_what_a_process_says_of_its_error() -> None:
    async def scenario() -> None:
        async with JobBoard(functions.jobs) as test:
            await test.board.jobs.add("send", {"to": "ann"})
            assert [job.result for job in await test.run_jobs_inline()] == [{"to": "ann send 1"}]
            for topic, payload, text in (("raise", "bug", "ValueError: a bug"), ("exit", 3, "with exit code 3")):
                await test.board.jobs.add(topic, payload, retries=0)
                with pytest.raises(Exception, match=text):
                    await test.run_jobs_inline()

    asyncio.run(scenario())
