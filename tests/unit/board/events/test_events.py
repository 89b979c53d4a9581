"""Events are published to all who listen, on a board in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import callboard.sync
from callboard import Callboard, DistributedEvent, Listener, Retention
from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.passing_log import PassingLog
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.events.event_messages import EventPublishedMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topics import broadcast_topic

DEADLINE_S = 30.0


def board_on(log: Log, folder: Path) -> Callboard:
    """Another process, as far as events are concerned."""
    resources = Resources(BoardSettings("memory:", "", folder), lambda _: log)
    return Callboard.on(BoardContext(resources, Agents(resources)))


def run(folder: Path, scenario: Callable[[Callboard, Callboard], Awaitable[None]], log: Log | None = None) -> None:
    its = MemoryLog() if log is None else log

    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), board_on(its, folder) as one, board_on(its, folder) as other:
            await scenario(one, other)

    asyncio.run(within())


async def take(listener: Listener, many: int) -> list[DistributedEvent]:
    return [await anext(listener) for _ in range(many)]


def numbers(events: Sequence[DistributedEvent]) -> list[Any]:
    return [event.properties["n"] for event in events]


@pytest.mark.proves("J89", "J90", "J91")
def test_an_event_reaches_every_listener_once_and_says_who_published_it(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        async with (
            other.member(instance="web-1"),
            one.events.listen("shop/*") as plain, one.events.listen("shop/**", name="a") as named,
            other.events.listen() as own,
        ):  # fmt: skip
            for n in range(3):
                said = {"n": n, "instance": "a forger", "event.application": "a forger"}
                await other.events.publish("shop/price", said)
            await other.events.publish("shop", {"n": 3})
            for listener, local in ((plain, False), (named, False), (own, True)):
                found = await take(listener, 3)
                assert numbers(found) == [0, 1, 2]
                assert {(event.instance, event.is_local) for event in found} == {("web-1", local)}
            assert numbers(await take(own, 1)) == [3]
        assert [each.behind for each in await one.events.listeners()] == [1]

    run(tmp_path, scenario)


@pytest.mark.proves("J92")
def test_what_a_listener_gets_is_on_the_log_only_once(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        async with one.events.listen() as here, other.events.listen() as there, other.events.listen(name="a") as also:
            await one.events.publish("a", {"n": 1})
            for listener in (here, there, also):
                await take(listener, 1)
        assert numbers(await one.events.find()) == [1]

    run(tmp_path, scenario)


def test_a_named_listener_goes_on_where_it_was_and_another_begins_now(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        await one.events.publish("a", {"n": 0})
        async with one.events.listen(name="mailer") as first:
            await one.events.publish("a", {"n": 1})
            assert numbers(await take(first, 1)) == [1]
        await one.events.publish("a", {"n": 2})
        with suppress(ZeroDivisionError):
            async with other.events.listen(name="mailer") as second:
                assert numbers(await take(second, 1)) == [2]
                raise ZeroDivisionError
        async with other.events.listen(name="mailer") as third, other.events.listen(name="late") as late:
            await one.events.publish("a", {"n": 3})
            assert numbers(await take(third, 2)) == [2, 3]
            assert numbers(await take(late, 1)) == [3]
        async with other.events.listen(name="all", oldest=True) as everything:
            assert numbers(await take(everything, 4)) == [0, 1, 2, 3]

    run(tmp_path, scenario)


def test_a_forgotten_listener_begins_now(tmp_path: Path) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        assert not await one.events.forget_listener("a")
        async with one.events.listen(name="a"):
            pass
        await one.events.publish("a", {"n": 1})
        assert await one.events.forget_listener("a")
        assert await one.events.listeners() == ()
        async with one.events.listen(name="a") as again:
            await one.events.publish("a", {"n": 2})
            assert numbers(await take(again, 1)) == [2]

    run(tmp_path, scenario)


class Unsure(PassingLog):
    """Fails after each second append of events, which it has made; and ignores keys, as Kafka does."""

    appends = 0

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        unkeyed = [NewRecord(payload=record.payload, headers=record.headers) for record in records]
        offsets = await super().append(topic, unkeyed)
        self.appends += topic == broadcast_topic()
        if topic == broadcast_topic() and self.appends % 2:
            raise LogUnavailable("the answer was lost")
        return offsets


def test_an_event_whose_append_was_answered_late_is_heard_once(tmp_path: Path) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        async with one.events.listen(name="a") as listener:
            for n in range(3):
                await one.events.publish("a", {"n": n})
            assert numbers(await take(listener, 3)) == [0, 1, 2]
            assert (await one.log.bounds(broadcast_topic())).end == 7

    run(tmp_path, scenario, Unsure(MemoryLog()))


def test_a_record_that_cannot_be_read_keeps_no_other_from_a_listener(tmp_path: Path) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        async with one.events.listen() as listener:
            for properties in (b"[]", b"no JSON"):
                broken = EventPublishedMessage(topic="a", properties=properties, instance="x", incarnation="y")
                record = new_record(broken, record_id="1", time_ns=1, producer="")
                await one.log.append(broadcast_topic(), [record, NewRecord(payload=b"")])
            await one.events.publish("a", {"n": 1})
            assert numbers(await take(listener, 1)) == [1]

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("topic", "properties", "why"),
    [
        ("shop//price", {}, "topic is 'shop//price'"),
        ("shop/*", {}, "topic is"),
        ("a" * 201, {}, "topic is"),
        ("a", [], "a mapping from names"),
        ("a", {1: 2}, "a mapping from names"),
        ("a", {"n": float("nan")}, "what JSON can hold"),
        ("a", {"n": object()}, "what JSON can hold"),
        ("a", {"n": "x" * 262_144}, "the properties have 262152 bytes, and the most is 262144"),
    ],
)
def test_an_event_that_is_none_is_refused(tmp_path: Path, topic: str, properties: Any, why: str) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        with pytest.raises(RequestRefused, match=why):
            await one.events.publish(topic, properties)

    run(tmp_path, scenario)


def test_events_are_found_by_topic_and_after_a_cursor(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        assert await one.events.find() == ()
        said = [await one.events.publish(f"a/{n % 2}", {"n": n}) for n in range(6)]
        assert numbers(await other.events.find(limit=2)) == [4, 5]
        assert numbers(await other.events.find("a/1")) == [1, 3, 5]
        assert numbers(await other.events.find(["a/0", "b"], after=said[1].cursor, limit=2)) == [2, 4]
        with pytest.raises(RequestRefused, match="is no cursor"):
            await one.events.find(after="17")

    run(tmp_path, scenario)


@pytest.mark.proves("J93")
def test_old_events_are_trimmed_and_a_place_before_them_is_refused_with_the_oldest_one_left(tmp_path: Path) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        first = await one.events.publish("a", {"n": 0})
        assert await one.trim(Retention(older_than_s=3600)) | {broadcast_topic(): 1} == await one.trim(Retention())
        await one.events.publish("a", {"n": 1})
        assert (await one.trim(Retention(older_than_s=0)))[broadcast_topic()] == 3
        await one.events.publish("a", {"n": 2})
        with pytest.raises(RequestRefused, match="events up to offset 2 were removed") as refused:
            await one.events.find(after=first.cursor)
        assert refused.value.code == "gone"
        assert numbers(await one.events.find(after=str(refused.value).split()[-1])) == [2]

    run(tmp_path, scenario)


def test_events_are_published_and_heard_without_an_event_loop(tmp_path: Path) -> None:
    handled = list[Any]()

    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        with board.events.listen("a", name="mailer") as listener:
            for n in range(3):
                board.events.publish("a", {"n": n})
            for event in listener:
                handled.append(event.properties["n"])
                if event.properties["n"] == 2:
                    break
            assert listener.lost == 0
        assert handled == [0, 1, 2]
        assert [(each.name, each.behind) for each in board.events.listeners()] == [("mailer", 0)]
        assert len(board.events.find()) == 3
        assert list(board.events(follow=False)) == []
        assert board.events.forget_listener("mailer")
