"""An answer about queues includes everything that the log held when the question came."""

from random import Random

import pytest

from callboard.actors.core.decision import After, Effect, Input, Moment, Origin, Reply, Tick
from callboard.actors.publisher.queues.queue_cache import COUNTING, PATIENCE_S, QueueCache, QueueCacheSettings
from callboard.messages.distribution.queue_mail import (
    PackagesSeen,
    PackageSummary,
    QueuePage,
    QueueQuery,
    QueueSize,
    Sizes,
    SizesQuery,
)

TAIL, ASKER, OTHER = Origin("tail_poller"), Origin("gateway", 1), Origin("gateway", 2)


@pytest.fixture
def cache() -> QueueCache:
    return QueueCache(QueueCacheSettings(), Random(1))


def tell(cache: QueueCache, message: Input, origin: Origin = ASKER, now_s: float = 0.0) -> list[Effect]:
    return list(cache.receive(message, origin, Moment(0, now_s)))


def seen(start: int, stop: int) -> PackagesSeen:
    packages = (PackageSummary(offset=offset, time_ns=0, publisher="site", length=1) for offset in range(start, stop))
    return PackagesSeen(log_id="L1", start=start, stop=stop, packages=tuple(packages))


def queued(effect: Effect) -> int:
    assert isinstance(effect, Reply)
    assert isinstance(effect.event, QueuePage | Sizes)
    return effect.event.queue.size if isinstance(effect.event, QueuePage) else effect.event.queues[0].size


def test_a_question_is_answered_once_everything_on_the_log_at_that_time_is_known(cache: QueueCache) -> None:
    tell(cache, seen(5, 10), TAIL)
    assert tell(cache, QueueQuery(after=7, publisher="site", end=12)) == [After(COUNTING, PATIENCE_S)]
    assert tell(cache, SizesQuery(queues=(QueueSize(publisher="site", after=7),), end=12), OTHER) == []
    assert tell(cache, seen(10, 11), TAIL) == []
    assert [queued(reply) for reply in tell(cache, seen(11, 13), TAIL)] == [5, 5]
    assert [queued(reply) for reply in tell(cache, QueueQuery(after=7, end=13))] == [5]


def test_a_question_does_not_wait_long_for_offsets_that_may_have_no_record(cache: QueueCache) -> None:
    tell(cache, seen(0, 10), TAIL)
    tell(cache, QueueQuery(after=7, end=12))
    assert tell(cache, QueueQuery(after=8, end=12), OTHER, PATIENCE_S / 2) == []
    early, timer = tell(cache, Tick(COUNTING), Origin(""), PATIENCE_S)
    assert queued(early) == 2
    assert timer == After(COUNTING, PATIENCE_S / 2)
    (late,) = tell(cache, Tick(COUNTING), Origin(""), 1.5 * PATIENCE_S)
    assert queued(late) == 1
