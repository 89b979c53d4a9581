"""What callers must not give: it is refused before a record is made of it, and later calls work."""

import asyncio
import enum
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import (
    BoardJobs,
    CallboardError,
    ConfigError,
    JobState,
    NewJob,
    NewJobOptions,
    RequestRefused,
    RetryJob,
    RunningJob,
)
from tests.unit.board.jobs.test_jobs import ends, run


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Word(str, enum.Enum):  # noqa: UP042 - whose str() is its name
    MAIL = "mail/send"


def nested(depth: int = 100_000) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


NUMBERS = [-1, 1.5, float("nan"), float("inf"), -float("inf"), 10**400, 2**63, -(2**63) - 1, True, complex(1, 2)]
TEXTS = ["", " ", "\ud800", "\x00", "a\nb", "x" * 100_000, b"", b"x" * 300_000, bytearray(b"x"), Word.MAIL]
OTHERS = [None, [], ["a"], {}, {1: 2}, {(1, 2): 3}, {1}, object(), Unprintable(), int, print, iter([1]), range(3), ...]
BAD = [*NUMBERS, *TEXTS, *OTHERS]

NEEDED = {"job": 1, "name": "n", "topic": "a", "topics": ["a"], "queue": "q", "url": "postgresql://a@b/c", "jobs": [],
          "connection": None, "then": NewJob(topic="a"), "functions": {"a": print}, "timeout_s": 0.0}  # fmt: skip
"""What the arguments are that are not bad."""


def arguments() -> list[tuple[str, str]]:
    """Every method of ``board.jobs``, and every argument of it that has a name."""
    found = []
    for method, function in inspect.getmembers(BoardJobs, inspect.isfunction):
        if not method.startswith("_"):
            _, *kinds = inspect.signature(function).parameters.values()
            named = (each for each in kinds if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY))
            found += [(method, each.name) for each in named]
    return found


async def called(jobs: BoardJobs, method: str, given: dict[str, Any], *more: Any) -> None:
    function = getattr(jobs, method)
    kinds = inspect.signature(function).parameters.values()
    needed = {
        each.name: NEEDED[each.name] for each in kinds
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    }  # fmt: skip
    value = function(*more, **{**needed, "timeout_s": 0.0, **given} if method == "wait" else {**needed, **given})
    if inspect.isasyncgen(value):
        await value.aclose()
    elif inspect.isawaitable(value):
        await value


async def refused_or_done(call: Callable[[], Any]) -> None:
    """Call it; what it raises is of the tree, and can be printed."""
    try:
        await call()
    except CallboardError as error:
        assert len(str(error).encode()) < 1000  # noqa: PT017 - any of them will do


@pytest.mark.proves("J2")
@pytest.mark.parametrize(("method", "name"), arguments())
def test_no_argument_of_a_method_ends_in_another_error_than_those_of_the_tree(
    tmp_path: Path, method: str, name: str
) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        for value in BAD:
            await refused_or_done(lambda value=value: called(jobs, method, {name: value}))
        assert (await jobs.add("a", "still")).id

    run(tmp_path, scenario)


@pytest.mark.proves("J2")
@pytest.mark.parametrize("option", [*NewJobOptions.__annotations__, "topic", "payload"])
def test_no_option_of_a_job_ends_in_another_error_either(tmp_path: Path, option: str) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        for value in [*BAD, nested()]:
            given = {"topic": "a", option: value}
            await refused_or_done(lambda given=given: jobs.add(**given))
            await refused_or_done(lambda given=given: jobs.add_all([NewJob(**given)]))
        assert (await jobs.add("a", "still")).id

    run(tmp_path, scenario)


@pytest.mark.parametrize("method", ["stop", "drop", "forget"])
def test_ids_of_jobs_are_checked_before_a_command_is_made_of_them(tmp_path: Path, method: str) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        for value in [each for each in BAD if not isinstance(each, int) or each in (10**400, True)]:
            with pytest.raises(RequestRefused):
                await getattr(jobs, method)(value)

    run(tmp_path, scenario)


@pytest.mark.proves("J3")
@pytest.mark.parametrize("topic", ["", "/", "a/", "/a", "a//b", "a.b", "a b", "a/*", "*", "ä", "a\n", "a" * 201])
def test_a_topic_is_made_of_words_between_slashes(tmp_path: Path, topic: str) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match="words of a-z"):
            await jobs.add(topic)
        assert (await jobs.add("A-1/b_2/c")).topic == "A-1/b_2/c"

    run(tmp_path, scenario)


def test_a_member_of_an_enum_stands_for_its_text(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        one = await jobs.add(Word.MAIL, lane=Word.MAIL)
        [two] = await jobs.add_all([NewJob(topic=Word.MAIL, unique=Word.MAIL, title=Word.MAIL)])
        assert [(await jobs.get(each.id)).topic for each in (one, two)] == ["mail/send"] * 2  # type: ignore[union-attr]
        assert ((await jobs.get(two.id)) or two).unique == "mail/send"

    run(tmp_path, scenario)


def test_more_jobs_than_one_call_takes_are_refused_without_a_look_at_all_of_them(tmp_path: Path) -> None:
    def endless() -> Any:
        while True:
            yield NewJob(topic="a")

    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match="the most in one call"):
            await jobs.add_all(endless())

    run(tmp_path, scenario)


def test_a_job_that_is_refused_fails_none_that_others_add_at_the_same_time(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        calls = [jobs.add("a", payload) for payload in (1, 2, object(), 3, b"x" * 300_000, 4)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert [isinstance(each, RequestRefused) for each in found] == [False, False, True, False, True, False]
        assert len((await jobs.find()).items) == 4

    run(tmp_path, scenario)


def test_jobs_with_long_texts_are_put_into_as_many_records_as_they_need(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        many = [NewJob(topic="a", title="\U0001f600" * 500, lane=f"{'x' * 190}{n}") for n in range(1000)]
        assert len({job.id for job in await jobs.add_all(many)}) == 1000

    run(tmp_path, scenario)


def test_a_payload_too_deep_to_be_read_is_given_as_it_is(tmp_path: Path) -> None:
    deep = b"[" * 100_000

    async def scenario(jobs: BoardJobs) -> None:
        async with jobs.worker({"a": len}):
            job = await jobs.add("a", deep)
            assert (await jobs.wait(job.id)).result == len(deep)
            assert ((await jobs.get(job.id)) or job).payload == deep

    run(tmp_path, scenario)


def test_wrong_functions_are_refused_by_a_worker(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        for value in BAD:
            for functions in (value, {"a": value} if not callable(value) else None):
                if functions != {}:
                    with pytest.raises(ConfigError):
                        jobs.worker(functions)  # type: ignore[arg-type]

    run(tmp_path, scenario)


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyboardInterrupt("k"), "KeyboardInterrupt: k"),
        (GeneratorExit(), "GeneratorExit: "),
        (BaseException("b"), "BaseException: b"),
        (StopIteration(1), "RuntimeError: coroutine raised StopIteration"),
        (StopAsyncIteration(), "StopAsyncIteration: "),
        (Silent(), "Silent: its text cannot be known: RuntimeError"),
        (TimeoutError("of its own"), "TimeoutError: of its own"),
        (RetryJob("r", delay_s=float("nan")), "r"),
        (RetryJob("r", delay_s="soon"), "r"),  # type: ignore[arg-type]
        (RetryJob("r", delay_s=-(10**400)), "r"),
    ],
)
@pytest.mark.parametrize("waits", [True, False])
def test_whatever_a_function_raises_is_the_outcome_of_its_job(
    tmp_path: Path, error: BaseException, message: str, waits: bool
) -> None:
    async def coroutine() -> None:
        raise error

    found = ends(tmp_path, coroutine if waits else raising(error), timeout_s=20)
    assert found[:2] == (JobState.GIVEN_UP, message)


@pytest.mark.parametrize("report", ["progress", "step", "eta", "log", "save", "fail", "cancel", "succeed"])
def test_what_a_job_reports_wrongly_fails_only_that_job(tmp_path: Path, report: str) -> None:
    async def work(number: int, job: RunningJob) -> None:
        if report != "progress":
            job.progress(10)
        getattr(job, report)([*BAD, nested()][number])

    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("once", ["a"], retries=0)
        async with jobs.worker({"a": work, "b": print}, slots=50):
            added = await jobs.add_all([NewJob(topic="a", payload=number) for number in range(len(BAD) + 1)])
            ended = await asyncio.gather(*(jobs.wait(job.id) for job in added))
            assert all(job.state.is_final for job in ended)
            assert (await jobs.wait((await jobs.add("b")).id)).state is JobState.SUCCEEDED

    run(tmp_path, scenario)


def test_a_job_that_cancels_its_own_task_has_failed(tmp_path: Path) -> None:
    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    assert ends(tmp_path, cancels_itself)[:2] == (JobState.GIVEN_UP, "CancelledError: ")


def test_a_coroutine_function_in_disguise_is_awaited(tmp_path: Path) -> None:
    async def work(payload: dict[str, int]) -> int:
        return payload["n"]

    @functools.wraps(work)
    def decorated(payload: dict[str, int]) -> Any:
        return work(payload)

    class Service:
        async def __call__(self, payload: dict[str, int]) -> int:
            return await work(payload)

    for function in (decorated, Service(), functools.partial(work)):
        assert ends(tmp_path, function)[2] == 1
