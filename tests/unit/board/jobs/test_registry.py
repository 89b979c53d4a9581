"""Jobs that a module defines before there is a board."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest
from pydantic import BaseModel

from callboard import (
    Callboard,
    ConfigError,
    Job,
    JobRegistry,
    JobState,
    NewJob,
    NewJobOptions,
    QueueSettings,
    RequestRefused,
    RunningJob,
)
from callboard.door.jobs import QUEUE

if TYPE_CHECKING:
    from callboard import Package

DEADLINE_S = 30.0


class Mail(BaseModel):
    """What the job of these tests is about."""

    to: str
    copies: int = 1


jobs = JobRegistry()


@jobs.job("mail/send", retries=0, title="a mail")
async def send(mail: Mail, job: RunningJob) -> Mail:
    """Gives back what it has sent, so that a test can look at it."""
    assert isinstance(mail, Mail)
    return Mail(to=mail.to, copies=mail.copies + job.attempt)


@jobs.job("mail/count")
def count(numbers: "list[int]") -> int:
    """Is no coroutine, and its payload no model."""
    return sum(numbers)


@jobs.job("mail/tidy")
def tidy() -> None:
    """Takes nothing."""


def test_a_defined_job_is_added_and_run_with_the_model_that_its_function_takes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=tmp_path) as board:
            added = [
                await send.add(board, Mail(to="ann"), title="another"),
                await count.add(board, [1, 2]),
                await tidy.add(board),
                *await board.jobs.add_all([send.new(Mail(to="bob"))]),
                await board.jobs.add("mail/send", {"to": "cid", "copies": "many"}, retries=0),
            ]
            assert_type(added[0], Job)
            async with board.jobs.worker(jobs):
                done = [await board.jobs.wait(job.id) for job in added]
        assert [each.result for each in done[:4]] == [{"to": "ann", "copies": 2}, 3, None, {"to": "bob", "copies": 2}]
        assert [each.title for each in done] == ["another", "", "", "a mail", ""]
        assert done[0].payload == {"to": "ann", "copies": 1}
        assert done[4].message.startswith("ValidationError: 1 validation error for Mail\ncopies")

    asyncio.run(scenario())


def test_a_function_runs_the_jobs_of_all_topics_and_registries_that_it_was_defined_for(tmp_path: Path) -> None:
    first, second = JobRegistry(), JobRegistry()

    @first.job("greet")
    @first.job("welcome")
    @second.job("greet", title="of the second")
    async def greet(mail: Mail) -> str:
        return f"hello {mail.to}"

    async def scenario() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=tmp_path) as board:
            for registry in (first, second):
                async with board.jobs.worker(registry):
                    for topic in registry:
                        job = await board.jobs.add(topic, Mail(to="ann"), retries=0)
                        assert (await board.jobs.wait(job.id)).result == "hello ann"
            assert (await greet.add(board, Mail(to="bob"))).topic == "greet"
        assert await greet(Mail(to="cid")) == "hello cid"

    asyncio.run(scenario())


def test_a_payload_that_does_not_fit_the_model_is_refused_when_it_is_added() -> None:
    with pytest.raises(RequestRefused, match=r"does not fit mail/send: 1 validation error for Mail\nto"):
        send.new({"to": None})  # type: ignore[arg-type]  # mypy refuses it, too
    with pytest.raises(RequestRefused, match="does not fit mail/send"):
        send.new()
    assert send.new(Mail(to="ann"), retries=2) == NewJob(
        topic="mail/send", payload=Mail(to="ann"), retries=2, title="a mail"
    )


def test_a_defined_job_is_called_like_its_function() -> None:
    assert_type(count([1, 2]), int)
    assert count([1, 2]) == 3
    assert (jobs["mail/count"], len(jobs), list(jobs)) == (count, 3, ["mail/send", "mail/count", "mail/tidy"])


def test_what_a_definition_gets_wrong_is_said_where_it_is_defined(tmp_path: Path) -> None:
    registry = JobRegistry()
    for topic, options, text in (
        ("a b", {}, "topic is 'a b', but should be a topic, or a pattern"),
        ("a", {"retries": -2}, "retries is -2"),
    ):
        with pytest.raises(ConfigError, match=text):
            registry.job(topic, **options)  # type: ignore[arg-type]
    registry.job("a/*")(tidy.function)
    with pytest.raises(ConfigError, match=r"the job 'a/\*' is defined twice"):
        registry.job("a/*")

    def only_for_type_checkers(package: "Package") -> None:
        raise AssertionError(package)

    board = Callboard("memory:", base=tmp_path)
    for unknown in (only_for_type_checkers, partial(only_for_type_checkers)):
        with pytest.raises(ConfigError, match="is a Package, but name 'Package' is not defined; its annotations must"):
            board.jobs.worker({"b": unknown})
    with pytest.raises(ConfigError, match=r"the parameters of <class 'type'> cannot be known"):
        board.jobs.worker({"b": type})


def test_type_checkers_know_every_option_of_jobs_and_queues() -> None:
    assert {*NewJobOptions.__annotations__, "topic", "payload"} == {*NewJob.__annotations__}
    assert {*QueueSettings.__annotations__, "name", "topics"} == {*QUEUE}


@pytest.mark.parametrize("function", [send, partial(send.function)])
def test_a_worker_takes_defined_jobs_and_partial_functions_by_topic(function: Any, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=tmp_path) as board:
            async with board.jobs.worker({"x": function}):
                done = await board.jobs.wait((await board.jobs.add("x", Mail(to="ann"))).id)
            assert (done.state, done.result) == (JobState.SUCCEEDED, {"to": "ann", "copies": 2})

    asyncio.run(scenario())
