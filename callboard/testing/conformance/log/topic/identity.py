"""The identity of a topic."""

from callboard.backends.log import Capability
from callboard.testing.conformance.log.harness import LogHarness, fill, opened, opened_twice


async def check_an_identity_stays(harness: LogHarness) -> None:
    """Through appends, and for every handle."""
    async with opened_twice(harness) as (one, other):
        identity = await one.identity(harness.topic)
        assert identity
        await fill(one, harness.topic, 3)
        await one.ensure(harness.topic)
        assert await one.identity(harness.topic) == await other.identity(harness.topic) == identity


async def check_topics_have_different_identities(harness: LogHarness) -> None:
    """Offsets of one mean nothing in another."""
    other = f"{harness.topic}-other"
    async with opened(harness) as log:
        await log.ensure(other)
        assert await log.identity(harness.topic) != await log.identity(other)


async def check_a_durable_identity_survives(harness: LogHarness) -> None:
    """Reopening the log does not change it."""
    async with opened(harness, Capability.DURABLE) as log:
        identity = await log.identity(harness.topic)
        await fill(log, harness.topic, 3)
    async with opened(harness) as log:
        assert await log.identity(harness.topic) == identity
