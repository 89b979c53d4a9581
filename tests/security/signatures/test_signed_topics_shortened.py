"""Only processes that can sign what they repeat shorten topics with signed records."""

import asyncio
from typing import Any

import pytest

from callboard import SigningKey
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.backends.log import Bounds, Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.signed_log import SignedLog
from callboard.backends.logs.tail import SharedTail
from callboard.errors import NotSupported
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, SubscriberConfiguration
from callboard.messages.headers import new_record
from callboard.messages.topics import Topics

OPS = SigningKey("ops", b"0123456789abcdef")
TOPICS = Topics.with_prefix()
S = 10**9
LIMITS = ShorteningLimits(records=5, slack=5, announced_s=60.0, told_s=60.0, pending_s=60.0)


class Clock:
    """Moves only when a test moves it."""

    now_ns = 1_800_000_000 * S

    def __call__(self) -> int:
        return self.now_ns


async def opened(clock: Clock) -> MemoryLog:
    log = MemoryLog(clock)
    for topic in (TOPICS.discovery, TOPICS.status, TOPICS.command, TOPICS.event, TOPICS.package):
        await log.ensure(topic)
    return log


def signing(log: Log, clock: Clock) -> SignedLog:
    return SignedLog(log, OPS, (OPS,), TOPICS.package, clock)


def announced(name: str, **fields: Any) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=True, max_retries=-1)
    named = {"subscriber_instance": "eve", "subscriber": name, "configuration": configuration}
    return DiscoveryMessage(**named | fields)


async def say(log: Log, said: DiscoveryMessage) -> None:
    await log.append(TOPICS.discovery, [new_record(said, record_id="x", time_ns=1, producer=said.subscriber)])


@pytest.mark.proves("W30")
def test_shortening_a_topic_keeps_only_signed_records_and_signs_them_again() -> None:
    async def work() -> dict[str, str]:
        clock = Clock()
        raw = await opened(clock)
        log = signing(raw, clock)
        await say(log, announced("away", subscriber_instance="true", state=State.STOPPED))
        await say(raw, announced("away"))
        for _ in range(50):
            clock.now_ns += 10 * S
            await say(log, announced("edge-1", subscriber_instance="true"))
            await say(raw, announced("forged"))
        done = await Shortener(SharedTail(signing(raw, clock))).run(TOPICS, LIMITS, clock())
        assert done.removed[TOPICS.discovery] > 50, done
        roll = LastAnnouncements(TOPICS.discovery)
        await roll.catch_up(signing(raw, clock), clock())
        return {name: word.announcement.subscriber_instance for name, word in roll.members.items()}

    assert asyncio.run(work()) == {"away": "true", "edge-1": "true"}


def test_a_process_without_keys_removes_no_record_whose_signature_it_cannot_renew() -> None:
    async def work() -> tuple[Bounds, Bounds]:
        clock = Clock()
        raw = await opened(clock)
        for number in range(50):
            clock.now_ns += 10 * S
            await say(signing(raw, clock), announced("edge-1" if number else "away"))
        before = await raw.bounds(TOPICS.discovery)
        with pytest.raises(NotSupported, match="set signing_key here"):
            await Shortener(raw).run(TOPICS, LIMITS, clock())
        return before, await raw.bounds(TOPICS.discovery)

    before, after = asyncio.run(work())
    assert before == after
