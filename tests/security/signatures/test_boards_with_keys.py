"""An attacker without a key writes to the log of a board with keys: every forged record is ignored."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, Publishing, SigningKey
from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements
from callboard.backends.logs.signed_log import SignedLog
from callboard.backends.logs.tail import SharedTail
from callboard.errors import RequestRefused
from callboard.messages.distribution.package_event import EventMarks, Mark, event_record
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    ArchivedTopic,
    CommandMessage,
    DiscoveryMessage,
    ForgottenMessage,
    PackageStatusMessage,
    PauseCommand,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topics import Topics

OPS = SigningKey("ops", b"0123456789abcdef")
TOPICS = Topics.with_prefix()
S = 10**9


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The asynchronous test, run to its end."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


class Attacker:
    """Writes to the log of a board without signing."""

    def __init__(self, board: Callboard) -> None:
        log = board.log
        while isinstance(log, SharedTail | SignedLog):
            log = log._log
        self.log = log

    async def says(self, topic: str, event: Event, producer: str = "", time_ns: int = 0) -> int:
        time_ns = time_ns or time.time_ns()
        record = new_record(event, record_id=f"{producer}/99", time_ns=time_ns, producer=producer)
        return (await self.log.append(topic, [record]))[0]


@pytest.fixture(params=["memory", "sqlite"])
def board(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Callboard]:
    """Makes a board with keys."""
    url = "memory:" if request.param == "memory" else "sqlite:///./board.db"
    keys: dict[str, Any] = {"signing_key": OPS, "trusted_keys": (OPS,)}

    def make(**others: Any) -> Callboard:
        return Callboard(url, base=tmp_path, **keys | others)

    return make


def announced(name: str, **fields: Any) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=True, max_retries=-1)
    return DiscoveryMessage(
        **{"subscriber_instance": "eve", "subscriber": name, "configuration": configuration, "host": "eve", "pid": 1}
        | fields
    )


async def publish(board: Callboard, folder: Path, name: str = "a", text: str = "one") -> int:
    (folder / "source").mkdir(exist_ok=True)
    (folder / "source" / name).write_text(text)
    return (await board.publisher("site").publish(folder / "source", [f"/{name}"])).offset


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_announcement_does_not_keep_a_subscriber_from_its_name(board, tmp_path) -> None:
    async with board() as it:
        await Attacker(it).says(TOPICS.discovery, announced("edge-1"), "edge-1/eve")
        async with it.subscriber("edge-1", into="./out") as edge:
            await publish(it, tmp_path)
            await edge.caught_up()
        assert [row.instance != "eve" for row in (await it.status()).subscribers] == [True]


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_stop_neither_stops_nor_hides_a_subscriber(board) -> None:
    async with board() as it, it.subscriber("edge-1", into="./out") as edge:
        said = await edge.report()
        await Attacker(it).says(TOPICS.discovery, replace(said, state=State.STOPPED), f"edge-1/{said.host}")
        (row,) = (await it.status()).subscribers
        assert row.liveness == "live"


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_flood_of_forged_commands_gets_few_answers(board) -> None:
    async with board() as it, it.subscriber("edge-1", into="./out", editable=True) as edge:
        await edge.caught_up()
        instance = (await edge.report()).subscriber_instance
        for number in range(300):
            order = CommandMessage(
                subscriber_instance=instance, subscriber="edge-1", command_id=f"{number}", pause=PauseCommand()
            )
            await Attacker(it).says(TOPICS.command, order, "edge-1/eve")
        assert (await it.pause("edge-1")).accepted  # and so the subscriber has read them all
        bounds = await it.log.bounds(TOPICS.status)
        assert bounds.end - bounds.first < 30


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_forget_has_no_effect(board) -> None:
    async with board() as it, it.subscriber("edge-1", into="./out"):
        await Attacker(it).says(TOPICS.discovery, ForgottenMessage(subscriber="edge-1", author="eve"))
        assert [row.name for row in (await it.status()).subscribers] == ["edge-1"]


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_status_puts_nothing_into_an_error_queue_and_is_reported(board, tmp_path) -> None:
    async with board() as it, it.subscriber("edge-1", into="./out", editable=True) as edge:
        offset = await publish(it, tmp_path)
        await edge.caught_up()
        forged = PackageStatusMessage(
            subscriber_instance="eve", subscriber="edge-1", publisher="site", package_id="p", offset=offset,
            status=Status.REMOVED_FAILED, reason="forged", time_ns=time.time_ns() + S,
        )  # fmt: skip
        await Attacker(it).says(TOPICS.status, forged, "edge-1/eve", time_ns=time.time_ns() + S)
        status = await it.status()
        assert [row.errors for row in status.subscribers] == [0]
        assert any("callboard.status: 1 record does not count" in note for note in status.notes)
        assert 'callboard_untrusted_records_total{topic="callboard.status"} 1.0' in await it.metrics()


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_status_of_the_golden_subscriber_lets_nothing_through(board, tmp_path) -> None:
    async with board() as it, it.subscriber("edge-0", into="./golden", editable=True) as golden:
        await golden.caught_up()
        await it.pause("edge-0")
        offset = await publish(it, tmp_path)
        said = await golden.report()
        forged = PackageStatusMessage(
            subscriber_instance=said.subscriber_instance, subscriber="edge-0", publisher="site", package_id="",
            offset=offset, status=Status.IMPORTED, sequence=99, time_ns=time.time_ns(),
        )  # fmt: skip
        await Attacker(it).says(TOPICS.status, forged, f"edge-0/{said.host}")
        async with it.subscriber("edge-1", into="./out", golden="edge-0") as edge:
            await until(edge, lambda said: said.state is State.STAGED)
            assert not (tmp_path / "out" / "a").exists()
            await it.resume("edge-0")
            await edge.caught_up()
            assert (tmp_path / "out" / "a").exists()


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_event_mark_suppresses_no_event(board, tmp_path) -> None:
    async with board(publishing=Publishing(events=("created",))) as it:
        log_id = await it.log.identity(TOPICS.package)
        marks = tuple(Mark(kind=kind, log_id=log_id, offset=99) for kind in ("created", "queued"))
        await Attacker(it).log.append(
            TOPICS.event, [event_record(EventMarks(publisher="site", marks=marks), time.time_ns(), "eve")]
        )
        offset = await publish(it, tmp_path)
        async for event in it.events(kinds=["created"], after=-1):
            assert event.offset == offset
            break


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_forged_announcement_of_an_archive_is_ignored(board, tmp_path) -> None:
    async with board() as it:
        await it.publisher("site").start()
        forged = ArchivedMessage(topics=(ArchivedTopic(topic=TOPICS.status, next=0),), place="s3://eve", time_ns=1)
        await Attacker(it).says(TOPICS.discovery, forged, "archive")
        roll = LastAnnouncements(TOPICS.discovery)
        await roll.catch_up(it.log, time.time_ns())
        assert roll.unarchived(TOPICS.status, 1000, 0) == 1000
        assert roll.problem == ""


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_rebuilt_subscriber_ignores_an_old_pause_and_copies_of_it(board, tmp_path) -> None:
    async with board() as it:
        async with it.subscriber("edge-1", into="./out-1") as edge:
            await edge.caught_up()
            assert (await it.pause("edge-1")).accepted is True
        eve = Attacker(it)
        (pause,) = await eve.log.read(TOPICS.command, (await eve.log.bounds(TOPICS.command)).first)
        copy = NewRecord(payload=pause.payload, headers=pause.headers)
        await eve.log.append(TOPICS.command, [copy])
        unnamed = CommandMessage(subscriber_instance="", subscriber="edge-1", pause=PauseCommand(), command_id="f")
        await eve.says(TOPICS.command, unnamed)
        async with it.subscriber("edge-1", into="./out-2") as edge:
            await publish(it, tmp_path)
            await edge.caught_up()
            await until(edge, lambda said: said.command_offset >= 3)
            await eve.log.append(TOPICS.command, [copy])
            await until(edge, lambda said: said.command_offset >= 4)
            assert (await edge.report()).state is State.IDLE
        assert (tmp_path / "out-2" / "a").exists()


@pytest.mark.proves("W30")
@on_a_loop
async def test_with_keys_a_subscriber_that_does_not_exist_yet_cannot_be_paused_even_by_force(board) -> None:
    async with board() as it:
        with pytest.raises(RequestRefused, match="no subscriber 'edge-9'") as refused:
            await it.pause("edge-9", force=True)
        assert "--force" not in str(refused.value)


async def until(edge: Any, holds: Callable[[DiscoveryMessage], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds(said := await edge.report()):
        assert time.monotonic() < deadline, said
        await asyncio.sleep(0.02)
