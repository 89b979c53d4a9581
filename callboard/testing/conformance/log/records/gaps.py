"""Gaps between offsets, for logs that can have them."""

from callboard.testing.conformance.log.harness import NOT_YET_S, LogHarness, fill, opened, texts
from callboard.testing.conformance.verdict import given


async def check_readers_pass_over_gaps(harness: LogHarness) -> None:
    """A read that starts inside a gap begins with the record after it."""
    gap = given(harness.gap, "GAPS")
    async with opened(harness) as log:
        (before,) = await fill(log, harness.topic, 1)
        await gap(log, harness.topic, 10)
        (after,) = await fill(log, harness.topic, 1)
        assert after > before + 10
        assert len(await log.read(harness.topic, before)) == 2
        for start in (before + 1, before + 5, after):
            assert texts(await log.read(harness.topic, start)) == ["0"]


async def check_a_gap_at_the_end_wakes_nobody(harness: LogHarness) -> None:
    """Offsets without a record are nothing to read, and do not end a wait."""
    gap = given(harness.gap, "GAPS")
    async with opened(harness) as log:
        (before,) = await fill(log, harness.topic, 1)
        await gap(log, harness.topic, 10)
        assert await log.read(harness.topic, before + 1) == []
        assert not await log.wait(harness.topic, before + 1, NOT_YET_S)
