"""Jobs that begin with a snapshot, compared with those of the whole topic over random histories."""

from array import array
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.planning import Planner
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.snapshots import taking
from callboard.actors.jobs.snapshots.columns import pack, unpack
from callboard.actors.jobs.snapshots.loading import Parts, loaded
from callboard.actors.jobs.snapshots.taking import parts
from callboard.errors import Undecodable
from callboard.messages import codec
from callboard.messages.event import Event, replaced
from callboard.messages.jobs.job_messages import JobsAddedMessage, JobsSnapshotMessage
from callboard.messages.jobs.limits import check_message
from tests.unit.actors.jobs.test_reducer import History, states

CARRIED = {
    "table", "topics", "numbers", "options", "queues", "waiting", "unique", "history", "workers", "leases", "leased_to",
    "running", "stopping", "schedules", "fence", "recent", "requests", "flows", "rates", "tallies",
    "reports",
    "suspects", "creators",
}  # fmt: skip


def reloaded(jobs: Jobs) -> Jobs:
    collected = Parts("log")
    taken = list(parts(jobs, "log", 5, "writer"))
    for part in taken:
        check_message(part)
        assert collected.see(codec.decode(JobsSnapshotMessage, codec.encode(part))) is (part is taken[-1])
    return loaded(collected.contents)


def known(jobs: Jobs) -> dict[str, Any]:
    """All that decides about later records."""
    table, now = jobs.table, range(len(jobs.table.ids))
    due_ms, first = jobs.waiting.held()
    owners = jobs.unique.owners()
    return {
        "rows": [[column[row] for column in table.columns] for row in now if table.find(table.ids[row]) >= 0],
        "counts": +Counter(table.counts), "topics": jobs.topics, "numbers": jobs.numbers, "options": jobs.options,
        "queues": jobs.queues.configured, "suspended": jobs.queues.suspended, "waiting": (due_ms, first),
        "unique": owners, "workers": list(jobs.workers.items()), "leases": jobs.leases,
        "expiring": sorted(each for each in jobs.unique._expiring if owners.get(each[1], (0,))[0] == each[2]),
        "leased_to": {name: list(its.items()) for name, its in jobs.leased_to.items()}, "running": jobs.running,
        "stopping": jobs.stopping, "schedules": list(jobs.schedules), "fence": (jobs.fence, list(jobs.recent.items())),
        "requests": list(jobs.requests.items()), "flows": {job: jobs.flows.waits_for(job) for job in jobs.flows._left},
        "rates": list(jobs.rates), "tallies": {name: getattr(jobs.tallies, name) for name in vars(jobs.tallies)},
        "suspects": jobs.suspects, "creators": jobs.creators,
        "reports": (jobs.reports.saved, jobs.reports.present, list(jobs.reports.past.items())),
        "history": {
            keep_ms: [job for job in its if table.find(job) >= 0] for keep_ms, its in jobs.history.kept().items()
        },
    }  # fmt: skip


def test_a_snapshot_carries_everything_that_readers_know() -> None:
    assert {name for name in vars(Jobs()) if not name.startswith("_")} == CARRIED


@pytest.fixture(params=[900_000, 50])
def _size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "PART_BYTES", request.param)
    monkeypatch.setattr(taking, "ROWS", 7)
    monkeypatch.setattr(taking, "ENTRIES", 2)


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("seed", range(30))
def test_jobs_of_a_snapshot_are_those_of_the_whole_topic_and_rule_alike_on_later_records(seed: int) -> None:
    history, twins = History(seed), list[Jobs]()
    see = history.see

    def see_too(message: Event) -> dict[int, str]:
        refused = see(message)
        assert [apply(twin, At(history.offset, history.ms), message) for twin in twins] == [refused] * len(twins)
        return refused

    history.see = see_too  # type: ignore[method-assign]
    for step in range(120):
        if step % 40 == 20:
            twins.append(reloaded(history.jobs))
            assert known(twins[-1]) == known(history.jobs)
        history.step()
        if history.rng.random() < 0.6:
            history.dispatch()
        for twin in twins:
            assert known(twin) | {"waiting": 0} == known(history.jobs) | {"waiting": 0}


@pytest.mark.parametrize("seed", range(30))
def test_jobs_are_leased_by_the_same_rules_after_a_snapshot(seed: int) -> None:
    history = History(seed)
    for _ in range(120):
        history.step()
        if history.rng.random() < 0.1:
            history.jobs = reloaded(history.jobs)
            history.planner = Planner(history.jobs)
        plain = history.plain
        for job, worker in history.dispatch():
            assert plain.jobs[job].worker == worker
        found, expected = states(history)
        assert found == expected
    left = history.plan()
    assert left or not any(history.plain.takers(job, history.ms) for job in history.plain.jobs)


Damage = Callable[[list[JobsSnapshotMessage]], list[JobsSnapshotMessage]]


def _changed(taken: list[JobsSnapshotMessage], place: int, **fields: Any) -> list[JobsSnapshotMessage]:
    return [replaced(each, **fields) if each is taken[place] else each for each in taken]


@pytest.mark.parametrize(
    "damage",
    [
        lambda taken: taken[1:],
        lambda taken: taken[:-1],
        lambda taken: [taken[0], *taken[2:]],
        lambda taken: _changed(taken, 1, content=taken[2].content),
        lambda taken: _changed(taken, -1, digest=b"x"),
        lambda taken: [replaced(each, log_id="another") for each in taken],
        lambda taken: _changed(taken, 2, as_of=6),
        lambda taken: _changed(taken, 2, writer="another"),
    ],
)
@pytest.mark.usefixtures("_size")
def test_a_snapshot_that_is_damaged_incomplete_or_foreign_is_not_believed(
    damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "PART_BYTES", 50)
    history = History(1)
    for _ in range(50):
        history.step()
    collected, complete = Parts("log"), False
    try:
        for part in damage(list(parts(history.jobs, "log", 5, "writer"))):
            complete = collected.see(part) or complete
    except Undecodable:
        pass
    assert not complete


def test_parts_that_come_twice_or_late_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "PART_BYTES", 50)
    history, rng, collected, complete = History(2), Random(2), Parts("log"), 0
    for _ in range(80):
        history.step()
    said = list(parts(history.jobs, "log", 5, "writer"))
    for place, part in enumerate(said):
        for repeated in (part, *rng.sample(said[: place + 1], min(place, 2))):
            complete += collected.see(repeated)
            if complete:
                break
    assert complete == 1
    assert known(loaded(collected.contents)) == known(history.jobs)


def test_contents_that_are_no_state_are_refused() -> None:
    jobs = Jobs()
    apply(jobs, At(1, 1), JobsAddedMessage(request="r", creator="c", topics=("a",), topic_of=(0,), payloads=(b"",)))
    [part] = parts(jobs, "log", 1, "writer")
    for contents in ([b"no zlib"], [part.content[:-1]], [part.content, part.content, part.content[:5]]):
        with pytest.raises(Undecodable):
            loaded(contents)


@pytest.mark.parametrize("typecode", "BHIQ")
def test_columns_are_packed_and_unpacked(typecode: str) -> None:
    column = array(typecode, [1, 255, 0, 7])

    assert unpack(typecode, pack(column)) == column
    if typecode != "B":
        with pytest.raises(Undecodable):
            unpack(typecode, b"1234567")
