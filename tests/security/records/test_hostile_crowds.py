"""Records of invented subscribers and publishers: the board still answers, and names a bounded number of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.actors.core.lease import Holder
from callboard.actors.publisher.errors.error_queue import ErrorQueues
from callboard.actors.publisher.fleet.liveness import Heard
from callboard.actors.publisher.fleet.roster import Roster
from callboard.actors.publisher.queues.columns import Columns
from callboard.actors.runtime import frames
from callboard.board.care.fleet_checkup import examine_fleet
from callboard.board.read.status.metrics import ROWS_MAX
from callboard.board.read.status.status import PUBLISHERS_MAX
from callboard.messages import codec
from callboard.messages.codec import encode
from callboard.messages.distribution.fleet_mail import FleetQuery
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Histogram,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.event import Event, replaced
from callboard.messages.record import NewRecord
from tests.refused import refused

MANY = 10_000


def play(scenario: Callable[[Callboard], Awaitable[None]], tmp_path: Path) -> None:
    async def timed() -> None:
        async with asyncio.timeout(120), Callboard("memory:", base=tmp_path) as board:
            await scenario(board)

    asyncio.run(timed())


def record(event: Event, **headers: str) -> NewRecord:
    named = {"type": type(event).__name__, "version": "1.2"} | headers
    return NewRecord(payload=codec.encode(event), headers=tuple(named.items()))


def announcement(name: str, follows: tuple[str, ...] = (), **more: object) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=True, max_retries=-1, follows=follows)
    said = DiscoveryMessage(subscriber_instance=name, subscriber=name, configuration=configuration, state=State.BLOCKED)
    return replaced(said, **more)


def package(publisher: str) -> PackageMessage:
    return PackageMessage(
        publisher_instance="i", publisher=publisher, package_id=publisher, kind=Kind.DELETE, paths=("/gone",)
    )


async def put(board: Callboard, topic: str, records: Sequence[NewRecord]) -> None:
    for start in range(0, len(records), 1000):
        await board.log.append(topic, records[start : start + 1000])


@pytest.mark.parametrize("count", [MANY, 200_000])
def test_an_announcement_that_follows_countless_publishers_does_not_block_the_status(
    count: int, tmp_path: Path
) -> None:
    async def scenario(board: Callboard) -> None:
        hostile = announcement("evil", tuple(f"p{number}" for number in range(count)))
        await put(board, board.settings.topics.package, [record(package("site"), publisher="site")])
        await put(board, board.settings.topics.discovery, [record(hostile), record(announcement("edge-1"))])
        await board.metrics()
        await examine_fleet(board.context, None, {})
        status = await board.status()
        assert "edge-1" in {row.name for row in status.subscribers}
        assert "site" in {row.name for row in status.publishers}
        assert len(status.publishers) <= PUBLISHERS_MAX

    play(scenario, tmp_path)


def test_oversized_fields_of_an_announcement_are_cut(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        states = tuple(SubscriberState(publisher=f"p{number}", offset=1) for number in range(100_000))
        counts = Histogram(counts=(1,) * 500_000)
        hostile = [
            announcement("states", states=states),
            announcement("left", left=tuple(range(400_000))),
            announcement("counts", imports=counts, latencies=counts),
            announcement("reason", reason="x" * 2_000_000),
        ]
        await put(board, board.settings.topics.discovery, [record(each) for each in hostile])
        assert await board.metrics()
        status = await board.status()
        assert len(status.subscribers) == 4
        assert len(status.publishers) <= PUBLISHERS_MAX
        assert max(len(row.left) + len(row.reason) for row in status.subscribers) <= 21_000

    play(scenario, tmp_path)


def test_a_board_with_thousands_of_invented_subscribers_and_publishers_still_answers(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        topics = board.settings.topics
        log_id = await board.log.identity(topics.package)
        packages = [package(f"p{number}") for number in range(MANY)]
        await put(board, topics.package, [record(each, publisher=each.publisher) for each in packages])
        said = [announcement(f"s{number}", offset=number, log_id=log_id) for number in range(MANY)]
        await put(board, topics.discovery, [record(each) for each in said])
        failed = [
            PackageStatusMessage(
                subscriber_instance="i", subscriber=f"s{number}", publisher=f"p{number}", offset=number,
                status=Status.REMOVED_FAILED, sequence=1,
            )
            for number in range(MANY)
        ]  # fmt: skip
        await put(board, topics.status, [record(each, kind="REMOVED_FAILED") for each in failed])
        figures = await board.metrics()
        assert figures.count("callboard_subscriber_ready{") == ROWS_MAX
        assert f"callboard_subscribers_left_out {MANY - ROWS_MAX}.0\n" in figures
        status = await board.status()
        assert [row.lag_packages for row in status.subscribers if row.name == "s9000"] == [MANY - 9000]

    play(scenario, tmp_path)


def test_the_longest_announcements_are_dropped_first_when_memory_runs_out() -> None:
    def heard(said: DiscoveryMessage) -> Holder[Heard]:
        holder = Holder[Heard]()
        holder.hear(Heard.of(said, 1, 1, seen_ns=1, heard_s=1.0, nbytes=len(encode(said))))
        return holder

    roster = Roster(1000, 1_000_000)
    for number in range(100):
        roster.put(f"edge-{number}", heard(announcement(f"edge-{number}")), last=True)
    gone = []
    for number in range(100):
        evil = announcement(f"evil-{number}", ("x" * 100,) * 1000)
        roster.put(f"evil-{number}", heard(evil), last=True)
        gone += list(roster.make_room())
    assert len(gone) > 90
    assert not [name for name in gone if name.startswith("edge")]
    left = [member.announcement.subscriber for member in roster.members(now_s=1.0, gone_after_s=60.0)]
    assert len([name for name in left if name.startswith("edge")]) == 100


def test_the_number_of_error_queues_is_bounded() -> None:
    queues, dropped = ErrorQueues(most=1000, most_queues=50), 0
    for number in range(500):
        dropped += queues.take(
            PackageStatusMessage(
                subscriber_instance="i", subscriber=f"s{number}", publisher="site", offset=1,
                status=Status.REMOVED_FAILED, sequence=1,
            )
        )  # fmt: skip
    assert (len(queues.by_name), dropped) == (50, 450)
    assert not queues.concerned("IMPORTED", "s1/i")
    assert queues.concerned("IMPORTED", "s499/i")


def test_sizes_that_no_package_can_have_do_not_overflow_the_total() -> None:
    columns, older = Columns(), Columns()
    for offset in range(10, 14):
        columns.append(offset, 1, 2**62)
    for offset in range(4):
        older.append(offset, 1, 2**62)
    columns.prepend(older)
    assert len(columns) == 8
    assert columns.total(0) > 2**62


def test_a_page_of_packages_with_countless_paths_is_short_and_its_agent_in_processes_survives(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(120), Callboard("sqlite:///./board.db", base=tmp_path, runtime="processes") as board:
            agent = await board.context.viewer()
            topics = board.settings.topics
            paths = tuple(f"/{number:09}" for number in range(150_000))
            hostile = [replaced(package("site"), paths=paths, user="x" * 100_000) for _ in range(45)]
            for each in hostile:
                await board.log.append(topics.package, [record(each, publisher="site")])
            await put(board, topics.discovery, [record(announcement("edge-1"))])
            # Each answer waits by itself; a page has a cursor while it is short.
            while (page := await board.queue("edge-1")).size < 45 or page.cursor:  # noqa: ASYNC110
                await asyncio.sleep(0)
            assert (page.size, len(page.items)) == (45, 45)
            assert sum(len(path) for each in page.items for path in each.paths) < 200_000
            assert await board.context.viewer() is agent
            assert not agent.has_ended

    asyncio.run(scenario())


def test_an_answer_too_large_for_a_frame_fails_the_question_and_not_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME", 1000)
    answer = frames.Frame(frames.Kind.ANSWER, "fleet", 7, event=FleetQuery(unknown=b"x" * 2000))
    (told,) = frames.FrameReader().feed(frames.encode(answer))
    assert (told.kind, told.number) == (frames.Kind.TOO_LARGE, 7)
    with refused("too_large"):
        frames.encode(replace(answer, kind=frames.Kind.ASK))
