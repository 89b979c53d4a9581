from dataclasses import replace
from random import Random
from typing import Any

import pytest

from callboard.actors.core.decision import (
    After,
    Decision,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Note,
    Origin,
    PeerUp,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.queues.older_poller import OlderPoller, OlderPollerSettings
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.queue import Wanted
from callboard.actors.publisher.queues.summary import summarise
from callboard.actors.publisher.queues.tail_poller import TailPoller, TailPollerSettings
from callboard.actors.subscriber.importing.received import received
from callboard.errors import LogUnavailable, OffsetOutOfRange
from callboard.messages.distribution.queue_mail import PackagesSeen, RangeDone, RangeWanted
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord, Record, pack_headers
from callboard.testing.drivers.subscriber_example import settings

NOW = Moment(1000, 0.0)
FIND = FindBounds("p")
BOUNDS = TopicBounds("L1", 0, 1000)


def tell(it: Decision, message: Input, origin: Origin = Origin("")) -> list[Effect]:  # noqa: B008
    return [effect for effect in it.receive(message, origin, NOW) if not isinstance(effect, Note)]


def record(offset: int, payload: bytes | None = None, length: int = 3, **fields: Any) -> Record:
    message = PackageMessage(
        publisher_instance="i", publisher="site", package_id=f"p{offset}", kind=Kind.ADD, paths=("/a", "/b"),
        deep_paths=("/b",), content=b"abc", length=length, user="ann", **fields,
    )  # fmt: skip
    new = new_record(message, record_id="r", time_ns=5, producer="test")
    content = new.payload if payload is None else payload
    return Record(offset=offset, time_ns=offset, payload=content, header_block=pack_headers(new.headers))


def mails(effects: list[Effect]) -> list[Event]:
    return [effect.event for effect in effects if isinstance(effect, Send) and effect.role == "queue_cache"]


def seen(start: int, stop: int, *offsets: int) -> PackagesSeen:
    packages = tuple(summarise(record(offset)) for offset in offsets)
    return PackagesSeen(log_id="L1", start=start, stop=stop, packages=packages)


def done(start: int, stop: int, first: int, problem: str = "") -> RangeDone:
    return RangeDone(log_id="L1", start=start, stop=stop, first=first, problem=problem)


# The summary.


def test_a_summary_has_everything_but_the_content() -> None:
    summary = summarise(record(7))
    assert (summary.offset, summary.time_ns, summary.publisher, summary.package_id) == (7, 7, "site", "p7")
    assert (summary.length, summary.paths, summary.deep_paths, summary.user) == (3, ("/a", "/b"), ("/b",), "ann")
    assert summary.problem == ""


def test_an_undecodable_record_has_a_summary_that_says_so() -> None:
    assert "offset 7" in summarise(record(7, payload=b"\xff")).problem
    assert "header 'type'" in summarise(Record(offset=7, time_ns=7, payload=b"")).problem
    newer = NewRecord(payload=b"", headers=(("type", "PackageMessage"), ("version", "99.0"))).at(7, 7)
    assert "upgrade" in summarise(newer).problem


def test_an_undecodable_record_is_in_the_queues_of_the_subscribers_that_do_not_skip_it() -> None:
    new = new_record(
        PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.ADD),
        record_id="r", time_ns=5, producer="test",
    )  # fmt: skip
    broken = Record(offset=7, time_ns=7, payload=b"\xff", header_block=pack_headers(new.headers))
    index = PackageIndex("L1", 7)
    index.add(PackagesSeen(log_id="L1", start=7, stop=8, packages=(summarise(broken),)))
    for follows in ("site", "news"):
        foreign = received(broken, settings(follows=(follows,))).foreign
        assert index.queue(Wanted(follows, -1, "edge")).size == (0 if foreign else 1)
    assert received(broken, settings(follows=("news",))).foreign


@pytest.mark.parametrize("payload", [b"", b"\xff"], ids=["sound", "damaged"])
@pytest.mark.parametrize(
    "recipients", [(), ("edge",), ("other", "edge"), ("other",), ("a\nb",), ("x" * 20_000,)],
    ids=["all", "it", "two", "another", "two lines", "a long name"],
)  # fmt: skip
def test_a_package_is_in_the_queues_of_the_subscribers_that_do_not_skip_it(
    recipients: tuple[str, ...], payload: bytes
) -> None:
    message = PackageMessage(
        publisher_instance="i", publisher="site", package_id="p", kind=Kind.ADD, recipients=recipients
    )
    new = new_record(message, record_id="r", time_ns=5, producer="test")
    found = Record(offset=7, time_ns=7, payload=payload or new.payload, header_block=pack_headers(new.headers))
    index = PackageIndex("L1", 7)
    index.add(PackagesSeen(log_id="L1", start=7, stop=8, packages=(summarise(found),)))
    for name in ("edge", "other", "third"):
        foreign = received(found, replace(settings(), name=name)).foreign
        assert index.queue(Wanted("", -1, name)).size == (0 if foreign else 1)


def test_the_size_of_a_package_includes_its_blobs() -> None:
    blobs = {"blobs": ("9f86",), "total_bytes": 600_000_003}
    assert summarise(record(7, **blobs)).length == 600_000_003
    assert summarise(record(7, blobs=("9f86",))).length == 3, "a publisher of version 1.1 does not count them"
    assert summarise(record(7, total_bytes=1 << 40)).length == 3, "without blobs there is nothing else to fetch"
    assert "total_bytes" in summarise(record(7, blobs=("9f86",), total_bytes=1 << 62)).problem


def test_the_figures_of_a_queue_do_not_trust_what_a_package_says() -> None:
    assert summarise(record(7, length=1 << 40)).length == 3
    impossible = summarise(record(7, length=1 << 62))
    assert (impossible.length, "claims the length" in impossible.problem) == (0, True)


# The tail poller.


def test_the_tail_poller_anchors_the_queue_cache_at_the_end_and_sends_new_packages() -> None:
    it = TailPoller(TailPollerSettings("p"), Random(1))
    assert tell(it, Started()) == [FIND]
    effects = tell(it, Done(FIND, BOUNDS))
    assert mails(effects) == [seen(1000, 1000)]
    read = effects[-1]
    assert isinstance(read, ReadLog)
    assert (read.start, read.wait_s > 0) == (1000, True)
    assert mails(tell(it, Done(read, LogRead("L1", (record(1001),), 1002)))) == [seen(1000, 1002, 1001)]


def test_the_tail_poller_anchors_a_restarted_queue_cache_again() -> None:
    it = TailPoller(TailPollerSettings("p"), Random(1))
    tell(it, Started())
    assert tell(it, PeerUp("queue_cache")) == [], "not before it knows the end"
    tell(it, Done(FIND, BOUNDS))
    assert mails(tell(it, PeerUp("queue_cache"))) == [seen(1000, 1000)]
    assert tell(it, PeerUp("fleet")) == []


def test_the_tail_poller_anchors_at_the_end_of_another_log() -> None:
    it = TailPoller(TailPollerSettings("p"), Random(1))
    tell(it, Started())
    read = tell(it, Done(FIND, BOUNDS))[-1]
    assert isinstance(read, ReadLog)
    (wait,) = tell(it, Done(read, LogRead("L2", (), 1000)))
    assert isinstance(wait, After)
    tell(it, Tick(wait.key))
    (anchor,) = mails(tell(it, Done(FIND, TopicBounds("L2", 0, 3))))
    assert anchor == PackagesSeen(log_id="L2", start=3, stop=3)


def test_both_pollers_stop_at_once() -> None:
    assert tell(TailPoller(TailPollerSettings("p"), Random(1)), Stopping()) == [Stopped()]
    assert tell(OlderPoller(OlderPollerSettings("p"), Random(1)), Stopping()) == [Stopped()]


# The older poller.


def head(**bounds: int) -> OlderPoller:
    return OlderPoller(OlderPollerSettings("p", **bounds), Random(1))


def want(it: OlderPoller, start: int, stop: int) -> list[Effect]:
    return tell(it, RangeWanted(log_id="L1", start=start, stop=stop), Origin("queue_cache"))


def test_a_range_is_sent_in_pieces_and_then_done() -> None:
    it = head()
    assert want(it, 10, 620) == [FIND]
    assert tell(it, Done(FIND, BOUNDS)) == [ReadLog("p", 10, 500)]
    first = LogRead("L1", tuple(map(record, range(10, 510))), 510)
    effects = tell(it, Done(ReadLog("p", 10, 500), first))
    assert mails(effects) == [seen(10, 510, *range(10, 510))]
    assert effects[-1] == ReadLog("p", 510, 110)
    last = LogRead("L1", (record(510), record(625)), 626)
    assert mails(tell(it, Done(effects[-1], last))) == [seen(510, 620, 510), done(10, 620, first=0)]


def test_a_range_that_begins_below_the_log_is_sent_from_the_start_of_the_log() -> None:
    it = head()
    want(it, 0, 20)
    assert tell(it, Done(FIND, TopicBounds("L1", 18, 1000))) == [ReadLog("p", 18, 2)]
    effects = tell(it, Done(ReadLog("p", 18, 2), LogRead("L1", (record(18), record(19)), 20)))
    assert mails(effects) == [seen(0, 20, 18, 19), done(0, 20, first=18)]


def test_a_fully_trimmed_range_is_empty() -> None:
    it = head()
    want(it, 0, 20)
    assert mails(tell(it, Done(FIND, TopicBounds("L1", 50, 1000)))) == [seen(0, 20), done(0, 20, first=50)]


def test_a_range_with_nothing_left_to_read_is_done() -> None:
    it = head()
    want(it, 10, 20)
    tell(it, Done(FIND, BOUNDS))
    assert mails(tell(it, Done(ReadLog("p", 10, 10), LogRead("L1", (), 10)))) == [seen(10, 20), done(10, 20, first=0)]


def test_an_empty_range_only_asks_where_the_log_begins() -> None:
    it = head()
    want(it, 20, 20)
    assert mails(tell(it, Done(FIND, TopicBounds("L1", 7, 1000)))) == [done(20, 20, first=7)]


def test_a_start_trimmed_while_reading_is_skipped() -> None:
    it = head()
    want(it, 10, 20)
    tell(it, Done(FIND, BOUNDS))
    (wait,) = tell(it, Failed(ReadLog("p", 10, 10), OffsetOutOfRange("p", 10, 15, 1000)))
    assert isinstance(wait, After)
    assert tell(it, Tick(wait.key)) == [FIND]
    assert tell(it, Done(FIND, TopicBounds("L1", 15, 1000))) == [ReadLog("p", 15, 5)]


def test_ranges_are_read_one_after_the_other_each_once() -> None:
    it = head()
    assert want(it, 10, 20) == [FIND]
    assert want(it, 10, 20) + want(it, 30, 40) + want(it, 30, 40) == []
    tell(it, Done(FIND, BOUNDS))
    effects = tell(it, Done(ReadLog("p", 10, 10), LogRead("L1", (record(19),), 20)))
    assert effects[-1] == FIND
    assert tell(it, Done(FIND, BOUNDS)) == [ReadLog("p", 30, 10)]


def test_a_log_that_stays_unavailable_fails_only_that_range() -> None:
    it = head(max_attempts=2)
    want(it, 10, 20)
    want(it, 30, 40)
    (wait,) = tell(it, Failed(FIND, LogUnavailable("down")))
    assert isinstance(wait, After)
    tell(it, Tick(wait.key))
    effects = tell(it, Failed(FIND, LogUnavailable("down")))
    (given_up,) = mails(effects)
    assert isinstance(given_up, RangeDone)
    assert (given_up.start, given_up.first, "down" in given_up.problem) == (10, -1, True)
    assert effects[-1] == FIND


def test_a_range_of_another_log_is_a_problem() -> None:
    it = head()
    want(it, 10, 20)
    (found,) = mails(tell(it, Done(FIND, TopicBounds("L2", 0, 5))))
    assert isinstance(found, RangeDone)
    assert "replaced" in found.problem


def test_too_many_ranges_are_refused() -> None:
    it = head(max_waiting=1)
    want(it, 10, 20)
    (refused,) = mails(want(it, 30, 40))
    assert isinstance(refused, RangeDone)
    assert "ask again later" in refused.problem
