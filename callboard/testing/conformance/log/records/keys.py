"""Keys make a retried append harmless."""

import asyncio

from callboard.backends.log import Capability, Retention
from callboard.testing.conformance.log.harness import LogHarness, fill, new, opened, opened_twice, read_all, texts


async def check_keys_have_no_effect_unless_declared(harness: LogHarness) -> None:
    """A log without ``KEYS`` appends a record each time, so that nothing relies on what it does not promise."""
    async with opened(harness, without=Capability.KEYS) as log:
        for text in ("first", "second"):
            await log.append(harness.topic, [new(text, key="k")])
        assert texts(await read_all(log, harness.topic)) == ["first", "second"]


async def check_a_key_is_appended_once(harness: LogHarness) -> None:
    """A second append with the key returns the first one's offset, also with another payload."""
    async with opened_twice(harness, Capability.KEYS) as (one, other):
        (first,) = await one.append(harness.topic, [new("first", key="k")])
        assert await one.append(harness.topic, [new("second", key="k")]) == [first]
        assert await other.append(harness.topic, [new("third", key="k")]) == [first]
        assert texts(await read_all(one, harness.topic)) == ["first"]


async def check_a_retried_batch_is_completed(harness: LogHarness) -> None:
    """Of a batch with keys, only missing records are written, and every record gets its offset."""
    async with opened(harness, Capability.KEYS) as log:
        (b,) = await log.append(harness.topic, [new("b", key="b")])
        again = await log.append(harness.topic, [new("a", key="a"), new("b", key="b"), new("c", key="c")])
        assert again[1] == b
        assert texts(await read_all(log, harness.topic)) == ["b", "a", "c"]


async def check_a_key_twice_in_a_batch_is_appended_once(harness: LogHarness) -> None:
    """Both get the same offset."""
    async with opened(harness, Capability.KEYS) as log:
        one, other, two = await log.append(harness.topic, [new("1", "k"), new("x"), new("2", "k")])
        assert one == two != other
        assert texts(await read_all(log, harness.topic)) == ["1", "x"]


async def check_records_without_a_key_are_never_merged(harness: LogHarness) -> None:
    """Equal payloads are different records."""
    async with opened(harness) as log:
        await log.append(harness.topic, [new("same"), new("same")])
        await log.append(harness.topic, [new("same")])
        assert len(await read_all(log, harness.topic)) == 3


async def check_racing_appends_of_a_key_write_one_record(harness: LogHarness) -> None:
    """All callers get its offset."""
    async with opened_twice(harness, Capability.KEYS) as (one, other):
        calls = [log.append(harness.topic, [new("x", key="k")]) for log in (one, other) * 10]
        assert len({offset for (offset,) in await asyncio.gather(*calls)}) == 1
        assert len(await read_all(one, harness.topic)) == 1


async def check_a_key_is_free_again_after_its_record_went(harness: LogHarness) -> None:
    """Keys last as long as their records, not forever."""
    async with opened(harness, Capability.KEYS, Capability.TRIM) as log:
        (first,) = await log.append(harness.topic, [new("1", key="k")])
        (second,) = await log.append(harness.topic, [new("2", key="stays")])
        await log.trim(harness.topic, Retention(below_offset=second))
        (again,) = await log.append(harness.topic, [new("3", key="k")])
        assert again > second > first
        assert await log.append(harness.topic, [new("4", key="stays")]) == [second]


async def check_keys_of_topics_are_independent(harness: LogHarness) -> None:
    """The same key in another topic is another record."""
    other = f"{harness.topic}-other"
    async with opened(harness, Capability.KEYS) as log:
        await log.ensure(other)
        await fill(log, other, 3)
        await log.append(harness.topic, [new("here", key="k")])
        await log.append(other, [new("there", key="k")])
        assert texts(await read_all(log, other))[-1] == "there"
