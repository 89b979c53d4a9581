"""Retention."""

from dataclasses import replace

from callboard.backends.log import Capability, Log, Retention
from callboard.errors import LogReplaced, NotSupported
from callboard.testing.conformance.log.harness import LogHarness, fill, opened, read_all, texts
from callboard.testing.conformance.verdict import given, raises

DAY_S = 86_400.0


async def check_trim_is_refused_unless_declared(harness: LogHarness) -> None:
    """A log without ``TRIM`` raises ``NotSupported`` and keeps everything."""
    async with opened(harness, without=Capability.TRIM) as log:
        await fill(log, harness.topic, 3)
        with raises(NotSupported):
            await log.trim(harness.topic, Retention(below_offset=2))
        assert len(await read_all(log, harness.topic)) == 3


async def check_trim_removes_below_an_offset(harness: LogHarness) -> None:
    """The new first offset is returned."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 10)
        assert await log.trim(harness.topic, Retention(below_offset=offsets[4])) == offsets[4]
        assert (await log.bounds(harness.topic)).first == offsets[4]
        assert texts(await read_all(log, harness.topic)) == ["4", "5", "6", "7", "8", "9"]


async def check_an_emptied_topic_keeps_its_end(harness: LogHarness) -> None:
    """Offsets are never reused."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 10)
        end = (await log.bounds(harness.topic)).end
        assert await log.trim(harness.topic, Retention(below_offset=offsets[-1] + 1000)) == end
        assert await log.bounds(harness.topic) == (end, end)
        assert await log.read(harness.topic, end) == []
        assert min(await fill(log, harness.topic, 1)) >= end


async def check_a_trimmed_topic_keeps_its_end_when_opened_again(harness: LogHarness) -> None:
    """A durable log remembers the offsets it has used even when no record is left."""
    async with opened(harness, Capability.TRIM, Capability.DURABLE) as log:
        await fill(log, harness.topic, 10)
        bounds = await log.bounds(harness.topic)
        await log.trim(harness.topic, Retention(below_offset=bounds.end))
    async with opened(harness) as log:
        assert await log.bounds(harness.topic) == (bounds.end, bounds.end)


async def check_trim_by_bytes_is_refused_unless_declared(harness: LogHarness) -> None:
    """A log without ``TRIM_BYTES`` raises ``NotSupported`` and keeps everything, even with other limits."""
    async with opened(harness, without=Capability.TRIM_BYTES) as log:
        offsets = await fill(log, harness.topic, 3)
        with raises(NotSupported):
            await log.trim(harness.topic, Retention(below_offset=offsets[1], above_bytes=1))
        assert len(await read_all(log, harness.topic)) == 3


async def check_trim_keeps_what_fits_into_the_bytes(harness: LogHarness) -> None:
    """The newest records stay."""
    async with opened(harness, Capability.TRIM_BYTES) as log:
        await fill(log, harness.topic, 10, size=1000)
        await log.trim(harness.topic, Retention(above_bytes=3500))
        assert texts(await read_all(log, harness.topic)) == ["7", "8", "9"]
        await log.trim(harness.topic, Retention(above_bytes=3500))
        assert len(await read_all(log, harness.topic)) == 3


async def check_trim_removes_what_is_too_old(harness: LogHarness) -> None:
    """By the records' own times."""
    async with opened(harness, Capability.TRIM) as log:
        pass_time = given(harness.pass_time, "CLOCK")
        await fill(log, harness.topic, 3)
        pass_time(60)
        younger = await fill(log, harness.topic, 2)
        pass_time(10)
        assert await log.trim(harness.topic, Retention(older_than_s=30)) == younger[0]
        assert [record.offset for record in await read_all(log, harness.topic)] == younger


async def check_a_record_dated_ahead_holds_up_no_trim_by_age(harness: LogHarness) -> None:
    """It goes with the next record that is too old, and stays if there is none: it may have just come."""
    async with opened(harness, Capability.TRIM) as log:
        pass_time = given(harness.pass_time, "CLOCK")
        pass_time(-30 * DAY_S)  # servers may refuse what is dated ahead of their own clocks
        await fill(log, harness.topic, 2)
        ahead, old = [await _append_ahead(harness, log, seconds) for seconds in (DAY_S, 9 * DAY_S)], []
        old += await fill(log, harness.topic, 2)
        pass_time(7200)
        assert await log.trim(harness.topic, Retention(older_than_s=3600, keep_from=old[0])) == ahead[0]
        last = await _append_ahead(harness, log, DAY_S)
        assert await log.trim(harness.topic, Retention(older_than_s=3600)) == last
        young = await fill(log, harness.topic, 1)
        assert await log.trim(harness.topic, Retention(older_than_s=3600)) == last
        assert [record.offset for record in await read_all(log, harness.topic)] == [last, *young]
        pass_time(7200)
        assert await log.trim(harness.topic, Retention(older_than_s=3600)) == young[0] + 1


async def check_a_record_dated_long_ago_lets_nothing_younger_before_it_go(harness: LogHarness) -> None:
    """A trim by age ends at the first record that is not too old, or is slightly ahead of the log's clock."""
    async with opened(harness, Capability.TRIM) as log:
        pass_time = given(harness.pass_time, "CLOCK")
        pass_time(-30 * DAY_S)
        await fill(log, harness.topic, 1)
        pass_time(7200)
        young = await _append_ahead(harness, log, 3000)
        await _append_ahead(harness, log, -DAY_S)
        assert await log.trim(harness.topic, Retention(older_than_s=3600)) == young


async def _append_ahead(harness: LogHarness, log: Log, seconds: float) -> int:
    """Append a record from a clock that is this far ahead, or behind; returns its offset."""
    pass_time = given(harness.pass_time, "CLOCK")
    pass_time(seconds)
    offsets = await fill(log, harness.topic, 1)
    pass_time(-seconds)
    return offsets[0]


async def check_one_limit_is_enough(harness: LogHarness) -> None:
    """A record goes as soon as any limit allows it."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 10, size=1000)
        retention = Retention(below_offset=offsets[2], older_than_s=3600)
        assert await log.trim(harness.topic, retention) == offsets[2]
        if Capability.TRIM_BYTES in log.capabilities:
            assert await log.trim(harness.topic, replace(retention, above_bytes=5900)) == offsets[5]


async def check_nothing_goes_from_where_everything_is_kept(harness: LogHarness) -> None:
    """Even if the limits allow it; keeping from below the first record removes nothing."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 10, size=1000)
        everything = Retention(below_offset=offsets[-1] + 1, above_bytes=0)
        if Capability.TRIM_BYTES not in log.capabilities:
            everything = replace(everything, above_bytes=None)
        assert await log.trim(harness.topic, replace(everything, keep_from=offsets[3])) == offsets[3]
        assert await log.trim(harness.topic, replace(everything, keep_from=offsets[1])) == offsets[3]
        assert [record.offset for record in await read_all(log, harness.topic)] == offsets[3:]


async def check_a_trim_by_offsets_of_another_log_removes_nothing(harness: LogHarness) -> None:
    """An offset has a meaning only together with the identity of its topic."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 5)
        retention = Retention(below_offset=offsets[2], log_id=await log.identity(harness.topic))
        with raises(LogReplaced):
            await log.trim(harness.topic, replace(retention, log_id="another"))
        assert (await log.bounds(harness.topic)).first == offsets[0]
        assert await log.trim(harness.topic, retention) == offsets[2]


async def check_no_limit_removes_nothing(harness: LogHarness) -> None:
    """A retention without limits keeps everything."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 3)
        assert await log.trim(harness.topic, Retention()) == offsets[0]
        assert len(await read_all(log, harness.topic)) == 3


async def check_many_records_are_trimmed(harness: LogHarness) -> None:
    """More than any log removes in one step."""
    async with opened(harness, Capability.TRIM) as log:
        offsets = await fill(log, harness.topic, 2000)
        assert await log.trim(harness.topic, Retention(below_offset=offsets[1700])) == offsets[1700]
        assert len(await read_all(log, harness.topic)) == 300
