"""A topic in use is replaced by another one."""

import asyncio

from callboard.backends.log import Capability, Log
from callboard.errors import LogReplaced, LogUnavailable, OffsetOutOfRange, TopicMissing
from callboard.testing.conformance.log.harness import SOON_S, LogHarness, new, opened, read_all
from callboard.testing.conformance.verdict import given

_RETRY_S = 0.02
_RECORDS = 10


async def check_a_replaced_topic_is_never_taken_for_the_old_one(harness: LogHarness) -> None:
    """No handle returns its records under the old identity; soon every handle knows."""
    replace = given(harness.replace, "REPLACE")
    async with opened(harness) as log:
        offsets = await _append(log, harness.topic, "old")
        identity = await log.identity(harness.topic)
        assert len(await read_all(log, harness.topic)) == _RECORDS
        await replace(log, harness.topic)
        if Capability.SHARED in log.capabilities:
            async with opened(harness) as other:
                assert await other.identity(harness.topic) != identity
                await _append(other, harness.topic, "new")
        else:
            await _append(log, harness.topic, "new")
        async with asyncio.timeout(SOON_S):
            await _until_it_knows(log, harness.topic, identity, offsets[_RECORDS // 2])


async def _append(log: Log, topic: str, text: str) -> list[int]:
    return await log.append(topic, [new(text) for _ in range(_RECORDS)])


async def _until_it_knows(log: Log, topic: str, identity: str, start: int) -> None:
    """Read, and compare the identity after each read as subscribers do, until either shows another topic."""
    while True:
        try:
            found = await log.read(topic, start)
            if await log.identity(topic) != identity:
                return
        except (LogReplaced, OffsetOutOfRange, TopicMissing):
            return
        except LogUnavailable:
            found = []
        assert all(record.payload == b"old" for record in found), "records of another topic came under the old identity"
        await asyncio.sleep(_RETRY_S)
