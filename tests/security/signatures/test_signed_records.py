"""An attacker without a key can write to the log: forged, altered and copied records do not count."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from callboard import SigningKey
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.restorable import Returned
from callboard.backends.logs.signed_log import QUIET_NS, SignedLog
from callboard.backends.logs.signed_walk import POSITIONS_MAX, SKEW_NS, SLACK
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.record import NewRecord, Record
from callboard.messages.signing import HEADER
from callboard.messages.topics import Topics
from callboard.messages.untrusted import UNTRUSTED, distrust_of

OPS = SigningKey("ops", b"0123456789abcdef")
NIGHT = SigningKey("night", b"fedcba9876543210")
TOPIC = "callboard.command"
TOPICS = Topics.with_prefix()
NOON_NS = 1_800_000_000 * 10**9
S = 10**9


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The asynchronous test, run to its end."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


class Clock:
    """Moves only when a test moves it."""

    now_ns = NOON_NS

    def __call__(self) -> int:
        return self.now_ns


class Place:
    """A raw log, which any process can write to, and views of it by processes with keys."""

    def __init__(self, raw: Log, clock: Clock) -> None:
        self.raw, self.clock = raw, clock

    def view(self, key: SigningKey = OPS, trusted: Sequence[SigningKey] = (OPS,)) -> SignedLog:
        return SignedLog(self.raw, key, trusted, TOPICS.package, self.clock)

    async def at(self, offset: int, topic: str = TOPIC) -> Record:
        return (await self.raw.read(topic, offset, 1))[0]

    async def again(self, record: Record, topic: str = TOPIC, **changes: Any) -> int:
        """Append the record as it is on the log, or altered."""
        copy = NewRecord(payload=record.payload, headers=record.headers)
        return (await self.raw.append(topic, [replace(copy, **changes)]))[0]


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Opens the place."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Place]:
        clock = Clock()
        raw: Log = MemoryLog(clock) if request.param == "memory" else SqliteLog(tmp_path / "board.db", clock)
        for topic in (TOPIC, TOPICS.status, TOPICS.package):
            await raw.ensure(topic)
        try:
            yield Place(raw, clock)
        finally:
            await raw.close()

    return opened


def word(text: str = "pause", key: str = "") -> NewRecord:
    return NewRecord(payload=text.encode(), headers=(("type", "CommandMessage"), ("version", "1.0")), key=key)


async def judged(log: Log, topic: str = TOPIC, start: int = 1) -> dict[int, str]:
    """By offset, why a record does not count; read one at a time, as a follower of the topic does."""
    found: dict[int, str] = {}
    while records := await log.read(topic, start, 1):
        found[records[0].offset] = distrust_of(records[0])
        start = records[-1].offset + 1
    return found


async def verdict(place: Place, offset: int, topic: str = TOPIC) -> str:
    """Why the record does not count: the same for a reader of all records before it as for one that starts there."""
    (found,) = [distrust_of(record) for record in await place.view().read(topic, offset, 1)]
    assert (await judged(place.view(), topic, (await place.raw.bounds(topic)).first))[offset] == found
    return found


# One record.


@pytest.mark.proves("W30")
@on_a_loop
async def test_signed_records_are_read_as_written_and_unsigned_ones_are_ignored(place) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word()])
        await it.raw.append(TOPIC, [word("forged")])
        genuine, forged = await it.view().read(TOPIC, 1)
        assert (genuine.payload, genuine.headers) == (b"pause", word().headers)
        assert (forged.offset, forged.header("type"), forged.header("was")) == (2, UNTRUSTED, "CommandMessage")
        assert "it is not signed" in distrust_of(forged)


@pytest.mark.proves("W30")
@pytest.mark.parametrize(
    "alter",
    [
        lambda copy: {"payload": copy.payload + b"!"},
        lambda copy: {"headers": (("type", "Other"), *copy.headers[1:])},
        lambda copy: {"headers": (("extra", "1"), *copy.headers)},
        lambda copy: {"headers": copy.headers[1:]},
        lambda copy: {"headers": (*copy.headers, ("extra", "1"))},
        lambda copy: {"headers": (*copy.headers, copy.headers[-1])},
        lambda copy: {"headers": copy.headers[:-1]},
        lambda copy: {"headers": (*copy.headers[:-1], (HEADER, ""))},
        lambda copy: {"headers": (*copy.headers[:-1], (HEADER, copy.headers[-1][1].upper()))},
        lambda copy: {"headers": (*copy.headers[:-1], (HEADER, copy.headers[-1][1].replace("ops", "eve")))},
        lambda copy: {"headers": (*copy.headers[:-1], (HEADER, copy.headers[-1][1].replace(" 1 ", " 0 ")))},
        lambda copy: {
            "headers": (*copy.headers[:-1], (HEADER, copy.headers[-1][1].replace(str(NOON_NS), str(NOON_NS + 1))))
        },
    ],
)
@on_a_loop
async def test_a_record_altered_anywhere_does_not_count(place, alter) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word()])
        genuine = await it.at(1)
        changes = alter(genuine)
        assert changes.get("headers", genuine.headers) != genuine.headers or "payload" in changes
        await it.raw.trim(TOPIC, Retention(below_offset=2))  # or it were only a copy
        assert await verdict(it, await it.again(genuine, **changes))


@pytest.mark.proves("W30")
@on_a_loop
async def test_moving_bytes_between_headers_and_payload_invalidates_the_signature(place) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [NewRecord(payload=b"ab", headers=(("type", "x"),))])
        (_, (name, signature)) = (await it.at(1)).headers
        moved = NewRecord(payload=b"b", headers=(("type", "xa"), (name, signature)))
        (offset,) = await it.raw.append(TOPIC, [moved])
        assert "its signature is wrong" in await verdict(it, offset)


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_record_signed_with_an_unknown_key_is_ignored_under_any_key_name(place) -> None:
    async with place() as it:
        unknown = SigningKey("ops", b"x" * 32)
        await it.view(unknown, ()).append(TOPIC, [word()])
        await it.view(NIGHT, ()).append(TOPIC, [word()])
        assert "another secret" in await verdict(it, 1)
        assert "key 'night', which is not among the trusted_keys" in await verdict(it, 2)


# Copies.


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_signature_is_invalid_on_another_topic(place) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word()])
        offset = await it.again(await it.at(1), TOPICS.status)
        assert "another topic or log" in await verdict(it, offset, TOPICS.status)


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_signature_is_invalid_on_another_board_with_the_same_names_and_keys(place) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word()])
        other = Place(MemoryLog(it.clock), it.clock)
        await other.raw.ensure(TOPIC)
        offset = await other.again(await it.at(1))
        assert "another topic or log" in await verdict(other, offset)
        await other.raw.close()


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_signature_is_invalid_on_a_recreated_log(tmp_path) -> None:
    clock = Clock()
    before, after = (Place(SqliteLog(tmp_path / name, clock), clock) for name in ("before", "after"))
    for each in (before, after):
        await each.raw.ensure(TOPIC)
    await before.view().append(TOPIC, [word()])
    offset = await after.again(await before.at(1))
    assert "another topic or log" in await verdict(after, offset)
    for each in (before, after):
        await each.raw.close()


@pytest.mark.proves("W30")
@pytest.mark.parametrize("later_s", [0, 10, 299, 301, 86_400])
@on_a_loop
async def test_a_copied_record_is_ignored_at_any_time_and_from_any_starting_offset(place, later_s) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word(), word("resume")])
        it.clock.now_ns += later_s * S
        await it.again(await it.at(1))
        assert await verdict(it, 3)
        assert (await judged(it.view()))[1] == ""


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_copy_of_a_trimmed_record_is_recognised_by_later_signatures_even_with_a_false_time(place) -> None:
    async with place() as it:
        log = it.view()
        await log.append(TOPIC, [word()])
        old = await it.at(1)
        it.clock.now_ns += 3 * SKEW_NS
        await log.append(TOPIC, [word("resume"), word("other")])
        await it.raw.trim(TOPIC, Retention(below_offset=3))
        it.clock.now_ns = old.time_ns  # a writer to the log can give records any time
        assert "copy of an old one" in await verdict(it, await it.again(old))


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_copy_far_behind_its_original_is_recognised_by_its_offset(tmp_path) -> None:
    clock = Clock()
    log = MemoryLog(clock)
    it = Place(log, clock)
    await log.ensure(TOPIC)
    await it.view().append(TOPIC, [word()])
    old = await it.at(1)
    await log.append(TOPIC, [word("noise")] * (POSITIONS_MAX + 1))
    offset = await it.again(old)
    await log.trim(TOPIC, Retention(below_offset=offset))
    assert "when the topic ended at offset 1" in await verdict(it, offset)


@on_a_loop
async def test_copies_are_recognised_with_a_bounded_memory_of_signatures(tmp_path) -> None:
    clock = Clock()
    log = MemoryLog(clock)
    it = Place(log, clock)
    await log.ensure(TOPIC)
    signed = it.view()
    for _ in range(3 * (POSITIONS_MAX + SLACK) // 500):
        await signed.append(TOPIC, [word()] * 500)
    last = await it.at((await log.bounds(TOPIC)).end - 1)
    await it.again(last)
    start, reader = 1, it.view()
    while records := await reader.read(TOPIC, start):
        counts, start = [not distrust_of(record) for record in records], records[-1].offset + 1
        assert all(counts[:-1])
        (walk,) = reader._topics[TOPIC].walks.values()
        assert len(walk._first) == len(walk._offsets) <= POSITIONS_MAX + 2 * SLACK
    assert not counts[-1]


@on_a_loop
async def test_two_records_with_equal_content_are_not_copies_of_each_other(place) -> None:
    async with place() as it:
        log = it.view()
        await log.append(TOPIC, [word(), word()])
        await log.append(TOPIC, [word()])
        assert set((await judged(it.view())).values()) == {""}


# Time.


@pytest.mark.proves("W30")
@pytest.mark.parametrize("step_s", [-301, 301])
@on_a_loop
async def test_the_clock_of_a_signer_may_differ_from_that_of_the_log_by_five_minutes(place, step_s) -> None:
    async with place() as it:
        near, far = Clock(), Clock()
        near.now_ns += step_s * S - step_s // 301 * 2 * S
        far.now_ns += step_s * S
        for clock in (near, far):
            await SignedLog(it.raw, OPS, (OPS,), "", clock).append(TOPIC, [word()])
        assert await verdict(it, 1) == ""
        assert "synchronise the clocks" in await verdict(it, 2)


@on_a_loop
async def test_records_signed_after_a_clock_is_set_back_an_hour_still_count(place) -> None:
    async with place() as it:
        log = it.view()
        await log.append(TOPIC, [word()])
        it.clock.now_ns -= 3600 * S
        for view in (log, it.view()):  # of a process that ran meanwhile, and of one that has just started
            (offset,) = await view.append(TOPIC, [word()])
            assert await verdict(it, offset) == ""


@pytest.mark.proves("W30")
@on_a_loop
async def test_a_process_with_its_clock_an_hour_ahead_invalidates_no_records_of_others(place) -> None:
    async with place() as it:
        log = it.view()
        await log.append(TOPIC, [word()])
        it.clock.now_ns += 3600 * S
        await it.view().append(TOPIC, [word("of the one that is ahead")])
        it.clock.now_ns -= 3600 * S
        (offset,) = await log.append(TOPIC, [word()])
        assert await verdict(it, offset) == ""


@on_a_loop
async def test_a_record_that_is_first_read_after_a_week_counts(place) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word()])
        it.clock.now_ns += 7 * 86_400 * S
        assert await verdict(it, 1) == ""


# The log is another one.


@pytest.mark.proves("W30")
@on_a_loop
async def test_after_a_topic_was_replaced_old_records_are_ignored_and_new_ones_count_within_seconds() -> None:
    clock = Clock()
    raw = MemoryLog(clock)
    await raw.ensure(TOPIC)
    it = Place(raw, clock)
    log, reader = it.view(), it.view()
    await log.append(TOPIC, [word()])
    assert await judged(reader) == {1: ""}
    old = await it.at(1)
    del raw._topics[TOPIC]
    await raw.ensure(TOPIC)
    await log.append(TOPIC, [word("for the former one")])
    clock.now_ns += 3 * S
    await log.append(TOPIC, [word()])
    await it.again(old)
    found = await judged(reader)
    assert [bool(why) for why in found.values()] == [True, False, True]
    await raw.close()


@on_a_loop
async def test_a_reader_that_knew_the_former_topic_accepts_the_new_one_at_once() -> None:
    clock = Clock()
    raw = MemoryLog(clock)
    await raw.ensure(TOPIC)
    it = Place(raw, clock)
    reader = it.view()
    await it.view().append(TOPIC, [word()])
    await judged(reader)
    del raw._topics[TOPIC]
    await raw.ensure(TOPIC)
    await it.view().append(TOPIC, [word()])
    assert await judged(reader) == {1: ""}
    await raw.close()


# What an attacker may do to those who have the key.


@pytest.mark.proves("W30")
@on_a_loop
async def test_guessing_the_key_of_a_record_does_not_replace_it(place) -> None:
    async with place() as it:
        await it.raw.append(TOPIC, [word("squatter", key="edge-1/7")])
        log = it.view()
        (offset,) = await log.append(TOPIC, [word(key="edge-1/7")])
        assert await verdict(it, offset) == ""
        assert await log.append(TOPIC, [word(key="edge-1/7")]) == [offset]  # and a retry is one still
        assert await it.view().append(TOPIC, [word(key="edge-1/7")]) == [offset]


@on_a_loop
async def test_forged_records_are_counted_once_and_a_flood_logs_one_line_a_minute(place) -> None:
    with capture_logs() as lines:
        await _flood(place, lines)


async def _flood(place: Any, lines: Sequence[Any]) -> None:
    async with place() as it:
        await it.raw.append(TOPIC, [word()] * 500)
        log = it.view()
        for _ in range(3):
            await judged(log)
        assert (log.ignored[TOPIC].count, log.ignored[TOPIC].offset) == (500, 500)
        assert [line["event"] for line in lines] == ["record.ignored"]
        it.clock.now_ns += QUIET_NS + 1
        await it.raw.append(TOPIC, [word()] * 2)
        await judged(log)
        assert log.ignored[TOPIC].count == 502
        assert len(lines) == 2


@on_a_loop
async def test_packages_are_not_signed(place) -> None:
    async with place() as it:
        await it.view().append(TOPICS.package, [word()])
        assert (await it.at(1, TOPICS.package)).headers == word().headers
        assert (await it.view().read(TOPICS.package, 1))[0].headers == word().headers


# Rolling out, and changing keys.


@pytest.mark.proves("W30")
@on_a_loop
async def test_keys_are_rolled_out_in_two_steps_without_ignoring_any_process(place) -> None:
    async with place() as it:
        old, signs, demands = it.raw, it.view(trusted=()), it.view()
        await old.append(TOPIC, [word()])
        await signs.append(TOPIC, [word()])
        assert [record.headers for record in await signs.read(TOPIC, 1)] == [word().headers] * 2
        assert [record.payload for record in await old.read(TOPIC, 1)] == [b"pause"] * 2
        await demands.append(TOPIC, [word()])
        assert [bool(why) for why in (await judged(demands)).values()] == [True, False, False]
        assert set((await judged(signs)).values()) == {""}


@pytest.mark.proves("W30")
@on_a_loop
async def test_keys_are_changed_one_process_at_a_time(place) -> None:
    async with place() as it:
        steps = (
            it.view(OPS, (OPS,)),
            it.view(OPS, (OPS, NIGHT)),
            it.view(NIGHT, (OPS, NIGHT)),
            it.view(NIGHT, (NIGHT,)),
        )
        for before, after in pairwise(steps):
            start = (await it.raw.bounds(TOPIC)).end
            for log in (before, after):
                await log.append(TOPIC, [word()])
            for log in (before, after):
                assert set((await judged(log, start=start)).values()) == {""}
        assert "key 'ops', which is not among" in (await judged(steps[-1]))[1]


# The topic is put back from an archive.


@pytest.mark.parametrize("same", [True, False])
@on_a_loop
async def test_archived_records_count_again_on_a_log_restored_with_its_identity(place, same) -> None:
    async with place() as it:
        await it.view().append(TOPIC, [word(), word("resume")])
        archived = [Returned(record, None) for record in await it.raw.read(TOPIC, 1)]
        other = Place(MemoryLog(it.clock), it.clock)
        await other.raw.ensure(TOPIC)
        assert await other.raw.put_back(TOPIC, archived)
        await other.raw.complete(TOPIC, await it.raw.identity(TOPIC) if same else "", 1, 3)
        assert [not why for why in (await judged(other.view())).values()] == [same, same]
        await other.raw.close()
