"""Hostile records on the log: none ends an agent or blocks it for good."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from callboard import Callboard, Publishing
from callboard.actors.core.effects import Append
from callboard.actors.subscriber.reporting.status_sender import StatusSender
from callboard.backends.logs.limits import check_sizes
from callboard.board.subscriber import Subscriber
from callboard.messages import codec
from callboard.messages.distribution.mailbox import StatusesPending
from callboard.messages.distribution.package_event import KINDS
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    PauseCommand,
    State,
    Status,
    SubscriberConfiguration,
    ThrottleCommand,
)
from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord
from callboard.messages.signing import SigningKey
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import settings

HOSTILE = {"NUL": "a\0b", "a line feed": "a\nb", "an escape": "\x1b[2J", "1.2 MB": "x" * 1_200_000}
KEY = SigningKey("ops", b"0123456789abcdef")
EVERYTHING = Publishing(events=KINDS)

hostile_texts = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


def play(scenario: Callable[[], Awaitable[None]], timeout_s: float = 20.0) -> None:
    async def timed() -> None:
        async with asyncio.timeout(timeout_s):
            await scenario()

    asyncio.run(timed())


def record(event: Event, **headers: str) -> NewRecord:
    """A record as any process could write it."""
    named = {"type": type(event).__name__, "version": "1.2"} | headers
    return NewRecord(payload=codec.encode(event), headers=tuple(named.items()))


def package(package_id: str = "p", publisher: str = "site") -> PackageMessage:
    return PackageMessage(
        publisher_instance="i", publisher=publisher, package_id=package_id, kind=Kind.DELETE, paths=("/gone",)
    )


def site(folder: Path) -> Path:
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "a").write_text("a")
    return folder / "src"


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():  # noqa: ASYNC110 - nothing tells us
        await asyncio.sleep(0.02)


async def told(board: Callboard) -> list[PackageStatusMessage | CommandResultMessage]:
    topic = board.settings.topics.status
    start, found = (await board.log.bounds(topic)).first, list[PackageStatusMessage | CommandResultMessage]()
    while records := await board.log.read(topic, start):
        start = records[-1].offset + 1
        found += [open_record(each, (PackageStatusMessage, CommandResultMessage)) for each in records]
    return found


async def works_on(board: Callboard, edge: Subscriber, tmp_path: Path) -> None:
    """A package that is published now is imported and reported."""
    published = await board.publisher("site").publish(site(tmp_path))
    await edge.caught_up()

    async def is_told() -> bool:
        lines = [line for line in await told(board) if isinstance(line, PackageStatusMessage)]
        return (published.offset, Status.IMPORTED) in [(line.offset, line.status) for line in lines]

    await until(is_told)


# Ids and names.


@hostile_texts
@pytest.mark.parametrize("keys", [(), (KEY,)], ids=["unsigned", "signed"])
def test_a_command_whose_id_fits_no_header_ends_no_agent(
    text: str, keys: tuple[SigningKey, ...], tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with (
            Callboard("sqlite:///./board.db", base=tmp_path) as stranger,
            Callboard(
                "sqlite:///./board.db", base=tmp_path, signing_key=KEY if keys else None, trusted_keys=keys
            ) as board,
            board.subscriber("edge-1", "./out", editable=True) as edge,
        ):
            await edge.caught_up()
            instance = (await edge.report()).subscriber_instance
            forged = CommandMessage(
                subscriber_instance=instance, subscriber="edge-1", command_id=text, throttle=ThrottleCommand()
            )
            await stranger.log.append(board.settings.topics.command, [record(forged)])
            await works_on(board, edge, tmp_path)
            if keys:
                assert (await board.pause("edge-1")).accepted

    play(scenario)


@hostile_texts
@pytest.mark.parametrize("field", ["package_id", "publisher"])
def test_a_package_whose_names_fit_no_header_counts_as_damaged(text: str, field: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Callboard("sqlite:///./board.db", base=tmp_path, publishing=EVERYTHING) as board,
            board.subscriber("edge-1", "./out", editable=True, on_undecodable="dead_letter") as edge,
        ):
            await board.publisher("site").start()
            hostile = package(**{field: text})
            await board.log.append(board.settings.topics.package, [record(hostile, publisher="site")])
            await board.log.append(board.settings.topics.package, [record(hostile)])
            agent = await edge.start()
            await board.publisher("site").publish(site(tmp_path))

            async def imported() -> bool:
                return (await edge.report()).imported == 1

            async def all_kinds() -> bool:
                return {each.kind async for each in board.events("site", after=-1, follow=False)} == set(KINDS)

            await until(imported)
            assert await edge.start() is agent
            await until(all_kinds)
            (row,) = (await board.status()).subscribers
            assert (row.imported, row.errors) == (1, 2)

    play(scenario)


@hostile_texts
def test_such_a_package_can_be_skipped_where_damaged_packages_block(text: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Callboard("memory:", base=tmp_path) as board,
            board.subscriber("edge-1", "./out", editable=True) as edge,
        ):
            (offset,) = await board.log.append(board.settings.topics.package, [record(package(text))])

            async def blocked() -> bool:
                return (await edge.report()).state is State.BLOCKED

            await until(blocked)
            assert (await board.skip("edge-1", offset, reason="damaged")).accepted
            await works_on(board, edge, tmp_path)

    play(scenario)


# Too much of anything.


def test_oversized_statuses_of_an_older_version_are_cut_to_fit_a_record() -> None:
    statuses = [
        PackageStatusMessage(
            subscriber_instance="me", subscriber="edge-1", publisher=text, offset=sequence, package_id=text,
            status=Status.REMOVED, reason=text, sequence=sequence,
        )
        for sequence, text in enumerate(HOSTILE.values(), 1)
    ]  # fmt: skip
    pending = StatusesPending(statuses=(*statuses, replace(statuses[0], publisher="site", package_id="p", sequence=9)))
    driver = DecisionDriver(StatusSender(settings(), Random(0)))
    driver.feed(pending)
    append = driver.asked(Append)
    check_sizes("status", append.records)
    lines = [open_record(each.at(1, 1), PackageStatusMessage) for each in append.records]
    assert [line.sequence for line in lines] == [1, 2, 3, 4, 9]
    assert lines[3].package_id.startswith("sha256:")
    assert lines[3].reason.endswith("more characters)")


def test_many_long_statuses_are_appended_in_batches_that_fit_the_smallest_log() -> None:
    statuses = tuple(
        PackageStatusMessage(
            subscriber_instance="me", subscriber="edge-1", publisher="site", offset=sequence, package_id="p",
            status=Status.REMOVED_FAILED, reason="\N{GRINNING FACE}" * 2000, sequence=sequence,
        )
        for sequence in range(1, 201)
    )  # fmt: skip
    driver, sizes = DecisionDriver(StatusSender(settings(), Random(0))), []
    driver.feed(StatusesPending(statuses=statuses))
    while driver.asks(Append):
        records = driver.asked(Append).records
        sizes.append((len(records), sum(len(record.payload) for record in records)))
        driver.done(Append, tuple(range(len(records))))
        if "rested" in driver.timers:
            driver.tick("rested")
    assert sum(count for count, _ in sizes) == 200
    assert max(size for _, size in sizes) < 1_000_000


def test_a_reason_as_long_as_a_record_blocks_neither_announcements_nor_later_commands(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Callboard("sqlite:///./board.db", base=tmp_path) as board,
            board.subscriber("edge-1", "./out", editable=True) as edge,
        ):
            await edge.caught_up()
            instance = (await edge.report()).subscriber_instance
            pause = CommandMessage(
                subscriber_instance=instance, subscriber="edge-1", command_id="c", pause=PauseCommand(),
                reason="x" * 2_096_800,
            )  # fmt: skip
            await board.log.append(board.settings.topics.command, [record(pause)])

            async def paused() -> bool:
                return [row.state for row in (await board.status()).subscribers] == ["paused"]

            await until(paused)
            assert (await board.resume("edge-1")).accepted
            await works_on(board, edge, tmp_path)

    play(scenario)


def test_a_status_as_long_as_a_record_does_not_block_a_staged_subscriber(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Callboard("memory:", base=tmp_path) as board,
            board.subscriber("edge-1", "./out", editable=True, golden="golden-1", expect=True),
        ):
            published = await board.publisher("site").publish(site(tmp_path))
            verdict = PackageStatusMessage(
                subscriber_instance="g", subscriber="golden-1", publisher="site", offset=published.offset,
                status=Status.REMOVED, reason="x" * 2_096_900, sequence=1,
            )  # fmt: skip
            golden = DiscoveryMessage(
                subscriber_instance="g", subscriber="golden-1", offset=published.offset,
                log_id=await board.log.identity(board.settings.topics.package),
                configuration=SubscriberConfiguration(editable=True, max_retries=-1),
            )  # fmt: skip
            await board.log.append(board.settings.topics.discovery, [record(golden)])
            await board.log.append(board.settings.topics.status, [record(verdict)])

            async def skipped() -> bool:
                return ("edge-1", published.offset) in [(line.subscriber, line.offset) for line in await told(board)]

            await until(skipped)

    play(scenario)


def test_a_subscriber_can_announce_itself_despite_packages_of_thousands_of_publishers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            hostile = [package(publisher=f"{number:-<999}") for number in range(3000)]
            await board.log.append(board.settings.topics.package, [record(each) for each in hostile])
            async with board.subscriber("edge-1", "./out", editable=True) as edge:
                await works_on(board, edge, tmp_path)

                async def announced() -> bool:
                    return [row.lag_packages for row in (await board.status()).subscribers] == [0]

                await until(announced)

    play(scenario)


def test_a_package_of_countless_empty_paths_does_not_end_the_events_of_its_publisher(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=tmp_path, publishing=EVERYTHING) as board:
            await board.publisher("site").start()
            hostile = replace(package(), paths=("",) * 700_000, deep_paths=("",) * 300_000)
            await board.log.append(board.settings.topics.package, [record(hostile, publisher="site")])
            later = (await board.publisher("site").publish(site(tmp_path))).offset

            async def later_is_told() -> bool:
                return later in [each.offset async for each in board.events("site", after=-1, follow=False)]

            await until(later_is_told)

    play(scenario)
