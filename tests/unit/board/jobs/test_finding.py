"""Finding jobs, commands for many of them, and what became of them, on a board in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.jobs.planning import Planner
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.board.jobs.finding import finding
from callboard.board.jobs.finding.templates import conditions
from callboard.board.jobs.new_job import NewJob
from callboard.errors import CancelJob, RequestRefused, RetryJob
from callboard.messages.jobs.job_state import JobState

DEADLINE_S = 60.0


def run(folder: Path, scenario: Callable[[BoardJobs], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board:
            await scenario(board.jobs)

    asyncio.run(within())


async def work(payload: object) -> object:
    if payload == "cancel":
        raise CancelJob("as told")
    if payload == "retry":
        raise RetryJob("as told")
    return payload


async def ended(jobs: BoardJobs) -> dict[str, int]:
    """A job in each state; their ids by its name."""
    await jobs.configure("once", ["**"], retries=0)
    payloads = {"succeeded": "ok", "given_up": "retry", "error": "cancel"}
    found = {state: (await jobs.add("a", payload)).id for state, payload in payloads.items()}
    async with jobs.worker({"a": work}):
        for job in found.values():
            await jobs.wait(job)
    found |= {state: (await jobs.add("b", state)).id for state in ("stopped", "dropped", "queued")}
    await jobs.stop(found["stopped"])
    await jobs.drop(found["dropped"])
    return found


@pytest.mark.proves("J26", "J27")
def test_jobs_are_found_by_state_or_by_words_for_several(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        ids = await ended(jobs)

        async def found(*states: str) -> set[str]:
            page = await jobs.find(states) if states else await jobs.find()
            return {job.state.name.lower() for job in page.items}

        assert await found() == await found("open") == {"queued"}
        for state in ids:
            assert await found(state) == {state}
        assert await found("active") == set()
        assert await found("history") == ids.keys() - {"queued"}
        assert await found("cancelled") == ids.keys() - {"queued", "succeeded"}
        assert await found("open", "error") == {"queued", "error"}
        with pytest.raises(RequestRefused, match="one of queued"):
            await jobs.find("waiting")

    run(tmp_path, scenario)


@pytest.mark.proves("J29", "J30")
def test_open_jobs_are_listed_by_age_and_ended_ones_by_their_end_either_way_round(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        added = [job.id for job in await jobs.add_all([NewJob(topic="a") for _ in range(6)])]
        by_end = [added[place] for place in (3, 0, 5, 1)]
        for job in by_end:
            await jobs.drop(job)

        async def pages(*states: str, **options: Any) -> list[int]:
            found, after = list[int](), -1
            while True:
                page = await jobs.find(states, after=after, limit=2, **options)
                assert len(page.items) <= 2
                found += [job.id for job in page.items]
                if (after := page.after) < 0:
                    return found

        assert await pages("open") == [added[2], added[4]]
        assert await pages("open", newest=True) == [added[4], added[2]]
        assert await pages("history") == by_end[::-1]
        assert await pages("history", newest=False) == by_end
        assert await pages("history", order="added", newest=False) == sorted(by_end)
        assert await pages("open", "history") == added
        by_both = [added[2], added[4], *by_end]
        assert await pages("open", "history", order="ended", newest=False) == by_both
        assert await pages("open", "history", order="ended", newest=True) == by_both[::-1]
        with pytest.raises(RequestRefused, match="limit is 0"):
            await jobs.find(limit=0)
        await jobs.forget(by_end[-1])
        with pytest.raises(RequestRefused, match="begin with the first page"):
            await jobs.find("history", after=by_end[-1])

    run(tmp_path, scenario)


PAYLOAD = {"size": 3, "to": "ann", "big": True, "none": None, "at": "2026-05-01T10:00:00+02:00", "a b<": 1, "list": [3]}
EIGHT = datetime(2026, 5, 1, 8, tzinfo=UTC)
NINE = datetime.fromisoformat("2026-05-01T09:00:00")  # without a zone


@pytest.mark.proves("J28", "J31")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"size": 3}, True), ({"=size": 3.0}, True), ({"size =": 4}, False),
        ({"<size": 3}, False), ({"<=size": 3}, True), ({"size >": 2}, True), ({"size >=": 3.5}, False),
        ({"<size": 4, "to >": "aaa"}, True), ({"<size": 4, "to": "bob"}, False),
        ([{"to": "bob"}, {"to": "ann"}], True), ([{"to": "bob"}, {"size": 4}], False), ([{}, {"to": "ann"}], True),
        ({"missing": None}, False), ({"none": None}, True), ({"none <=": None}, False), ({"missing <": 1}, False),
        ({"size": "3"}, False), ({"size": True}, False), ({"big": True}, True), ({"big": 1}, False),
        ({"big <=": True}, False), ({"list": 3}, False), ({"a b<": 1}, False), ({"to": "'\"; --"}, False),
        ({"at": EIGHT}, True), ({"at": "2026-05-01T08:00:00Z"}, True), ({"at >": "2026-05-01"}, True),
        ({"at <": EIGHT.astimezone(timezone(timedelta(hours=9)))}, False), ({"at <": NINE}, True),
        ({"at >": "tomorrow"}, False), ({"to <": EIGHT}, False), ({"at": "2026-99-99"}, False),
    ],
)  # fmt: skip
def test_a_template_asks_for_all_of_its_properties_and_several_for_any_of_them(where: Any, expected: bool) -> None:
    found = any(all(each.holds(PAYLOAD) for each in one) for one in conditions(where))
    assert found is expected


@pytest.mark.parametrize("where", ["size", {3: 1}, {"": 1}, {"<size>": 1}, {"size": [1]}, [None], [{}] * 101])
def test_what_is_no_template_is_refused(where: Any) -> None:
    with pytest.raises(RequestRefused):
        conditions(where)


@pytest.mark.proves("J28")
def test_jobs_are_found_by_payload_and_by_all_that_they_were_added_with(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("mails", ["mail/*"])
        first = await jobs.add("mail/send", {"to": "ann", "size": 5}, lane="l", title="Order 12")
        second = await jobs.add("mail/send", {"to": "bob", "size": 1})
        third = await jobs.add("other", b"bytes")
        await jobs.schedule("now", "other", {"size": 9}, every_s=1)
        async with jobs.worker({"nothing": work}):
            async for _ in jobs.watch():
                if (made := await jobs.find(schedule="now")).items:
                    break
        await jobs.unschedule("now")

        async def found(**query: Any) -> list[int]:
            return [job.id for job in (await jobs.find("open", **query)).items if job.schedule != "now"]

        assert made.items[0].payload == {"size": 9}
        assert await found(where={"size >": 1}) == [first.id]
        assert await found(where=[{"to": "bob"}, {"size": 5}]) == [first.id, second.id]
        assert await found(queue="mails") == await found(topic="mail/*") == [first.id, second.id]
        assert await found(lane="l") == await found(title="Order 12") == [first.id]
        assert await found(creator="nobody") == []
        assert await found(queue="mails", where={"to": "bob"}) == [second.id]
        creator = (await jobs.find(where={"to": "ann"})).items[0].creator
        assert await found(creator=creator) == [first.id, second.id, third.id]

    run(tmp_path, scenario)


@pytest.mark.proves("J30")
def test_a_page_reads_a_bounded_number_of_records_and_tells_where_the_next_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "RECORDS_MAX", 3)
    monkeypatch.setattr(finding, "LOOKS_MAX", 20)

    async def scenario(jobs: BoardJobs) -> None:
        for place in range(8):
            await jobs.add_all([NewJob(topic="a", payload={"n": place})] * 10)
        pages, after, found = 0, -1, list[int]()
        while True:
            page = await jobs.find(where={"n": 5}, after=after, limit=7)
            pages, after = pages + 1, page.after
            found += [job.id for job in page.items]
            if after < 0:
                break
        assert len(set(found)) == len(found) == 10
        assert pages >= 4

    run(tmp_path, scenario)


@pytest.mark.proves("J22", "J52")
def test_all_jobs_that_fit_are_dropped_or_removed_at_once(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("mails", ["mail/*"])
        await jobs.add_all([NewJob(topic="mail/send", payload={"n": place}) for place in range(1500)])
        kept = await jobs.add("other")
        assert await jobs.drop_all(queue="mails", where={"n >=": 1400}, reason="full") == 100
        assert len((await jobs.find("dropped", limit=1000)).items) == 100
        with pytest.raises(RequestRefused, match="say which jobs"):
            await jobs.drop_all()
        after = await jobs.add("other", after=[(await jobs.find(queue="mails")).items[0]])
        assert await jobs.remove_all("mails") == 1400
        assert [job.id for job in (await jobs.find()).items] == [kept.id]
        assert (await jobs.find("history")).items[0].id == after.id
        assert len((await jobs.find("dropped", queue="mails", limit=1000)).items) == 100

    run(tmp_path, scenario)


@pytest.mark.proves("J25")
def test_jobs_that_failed_are_all_added_again_once_with_what_they_were_added_with(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        ids = await ended(jobs)
        failed = await jobs.add("a", "cancel", priority=3, lane="l", retries=4, timeout_s=9.0, title="t", unique="k")
        async with jobs.worker({"a": work}):
            await jobs.wait(failed.id)
        assert await jobs.retry_all(topic="a") == 3
        assert await jobs.retry_all(topic="a") == 0
        again = (await jobs.find(topic="a")).items
        assert [job.state.name for job in again] == ["QUEUED"] * 3
        assert not {job.id for job in again} & {failed.id, *ids.values()}
        last = await jobs.get(again[-1].id)
        assert last is not None
        assert (last.payload, last.priority, last.lane, last.title, last.unique) == ("cancel", 3, "l", "t", "k")
        options = (await jobs._read()).jobs.options[last.id]
        assert (options.retries, options.timeout_ms) == (4, 9000)
        once = await jobs.retry(ids["stopped"])
        assert (once.topic, once.id > last.id) == ("b", True)
        with pytest.raises(RequestRefused, match="only jobs that have ended"):
            await jobs.retry_all("queued", topic="a")

    run(tmp_path, scenario)


def test_a_plan_tells_what_would_become_of_a_job_and_adds_none(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("mails", ["mail/*"], parallel=2, rate=5, rate_s=60, retries=3)
        first = await jobs.add("mail/send", unique="k")
        async with jobs.worker({"other": work}, instance="w"):
            await jobs.wait((await jobs.add("other")).id)
            plan = await jobs.plan("mail/send", {"n": 1}, unique="k", after=[first.id], timeout_s=5)
            assert (plan.queue, plan.parallel, plan.rate, plan.rate_s, plan.retries) == ("mails", 2, 5, 60.0, 3)
            assert (plan.same, plan.waits_for, plan.timeout_s, plan.workers) == (first.id, 1, 5.0, ())
            assert (await jobs.plan("other")).workers == ("w",)
        assert "but should be words" in (await jobs.plan("a b")).refused
        assert "cannot be JSON" in (await jobs.plan("a", object())).refused
        assert "no job 7 to wait for" in (await jobs.plan("a", after=[7])).refused
        assert len((await jobs.find()).items) == 1

    run(tmp_path, scenario)


@pytest.mark.proves("J54", "J55")
def test_statistics_count_all_ends_also_of_jobs_that_are_forgotten(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        assert (await jobs.statistics()).total.succeeded == 0
        await ended(jobs)
        await jobs.forget(*(job.id for job in (await jobs.find("history")).items))
        found = await jobs.statistics()
        total = found.total
        assert (total.queued, total.active, total.succeeded, total.stopped) == (1, 0, 1, 1)
        assert (total.given_up, total.error, total.dropped, total.failed, total.started) == (1, 1, 1, 1, 3)
        assert found.topics["a"].started == 3
        assert found.topics["b"].dropped == found.queues["once"].dropped == 1
        [worker] = found.workers.values()
        assert (worker.started, worker.succeeded, worker.error, worker.given_up, worker.failed) == (3, 1, 1, 1, 1)
        assert total.waiting_ms >= 0
        assert found.since_ms > 0

    run(tmp_path, scenario)


@pytest.mark.proves("J26")
def test_a_job_has_seven_states_and_five_of_them_are_final() -> None:
    assert [state.is_final for state in JobState] == [False] * 2 + [True] * 5


@pytest.mark.proves("J23", "J24")
def test_a_command_says_which_jobs_it_was_for_and_ended_ones_leave_the_history(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        first, second = await jobs.add_all([NewJob(topic="a"), NewJob(topic="a")])
        assert await jobs.forget(first.id, 7) == ()
        assert await jobs.drop(first.id, 7) == (first.id,)
        assert await jobs.stop(first.id, 7) == ()
        assert await jobs.forget(first.id, second.id) == (first.id,)
        assert await jobs.get(first.id) is None
        assert (await jobs.find("history")).items == ()
        with pytest.raises(RequestRefused, match="there is no such job"):
            await jobs.retry(first.id)

    run(tmp_path, scenario)


@pytest.mark.proves("J5")
def test_a_payload_may_have_any_property_and_changes_nothing_that_is_known_of_its_job(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        payload = {"id": 7, "topic": "x", "event.job.topic": "y", "slingevent:eventId": 8, "state": "error"}
        async with jobs.worker({"a": work}):
            found = await jobs.wait((await jobs.add("a", payload)).id)
        assert (found.topic, found.state, found.payload, found.result) == ("a", JobState.SUCCEEDED, payload, payload)
        assert found.id != 7

    run(tmp_path, scenario)


@pytest.mark.proves("J53")
def test_queues_need_not_be_created_and_those_without_jobs_are_not_looked_at(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("{0}", ["each/*"])
        assert [each.name for each in await jobs.queues()] == ["main"]
        added = await jobs.add_all([NewJob(topic="each/a"), NewJob(topic="other")])
        assert [(each.name, each.queued) for each in await jobs.queues()] == [("a", 1), ("main", 1)]
        planner = Planner((await jobs._read()).jobs)
        assert len(planner._queues()) == 2
        await jobs.drop(*(job.id for job in added))
        await jobs.queues()
        assert planner._queues() == []

    run(tmp_path, scenario)
