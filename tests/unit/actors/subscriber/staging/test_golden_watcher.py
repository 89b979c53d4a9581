"""The golden watcher: the last verdict on each package, from the end of the status topic, in bounded memory."""

from random import Random

import pytest

from callboard.actors.core.decision import Done, Failed, Perform, Stopping
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber.staging.golden_watcher import GoldenWatcher
from callboard.actors.subscriber.staging.verdict_table import VerdictTable
from callboard.errors import LogUnavailable
from callboard.messages.distribution.mailbox import Verdicts, VerdictsWanted
from callboard.messages.distribution.topic_messages import (
    CommandResultMessage,
    DiscoveryMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import TOPICS, settings

GOLDEN = "edge-0"


def told(
    offset: int, sequence: int = 1, status: Status = Status.IMPORTED, subscriber: str = GOLDEN, instance: str = "g"
) -> PackageStatusMessage:
    return PackageStatusMessage(
        subscriber_instance=instance, subscriber=subscriber, publisher="site", offset=offset, status=status,
        sequence=sequence,
    )  # fmt: skip


def said(state: State = State.IDLE, subscriber: str = GOLDEN, instance: str = "g", offset: int = 3) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=True, max_retries=-1)
    return DiscoveryMessage(
        subscriber_instance=instance, subscriber=subscriber, configuration=configuration, state=state, offset=offset
    )


def record(event: Event, at: int) -> Record:
    producer = f"{event.subscriber}/{event.subscriber_instance}"  # type: ignore[attr-defined]
    return new_record(event, record_id=str(at), time_ns=1, producer=producer).at(at, at)


class Watching(DecisionDriver):
    """A watcher, and the two topics that it reads."""

    def __init__(self, *statuses: Event, most: int = 100, announcements: tuple[Event, ...] | None = None) -> None:
        super().__init__(GoldenWatcher(settings(golden=GOLDEN), Random(1), most))
        self.statuses = list(statuses)
        self.announcements = [said()] if announcements is None else list(announcements)

    def want(self, offset: int) -> Verdicts:
        """Ask for verdicts from there on; the answer once both topics are read."""
        self.feed(VerdictsWanted(offset=offset))
        return self.read()

    def read(self) -> Verdicts:
        """Let it read the topics to their ends."""
        for _ in range(20):
            for effect in [*self.open]:
                self._answer(effect)
        return self.sent(Verdicts)[-1]

    def _answer(self, effect: Perform) -> None:
        events = self.statuses if getattr(effect, "topic", "") == TOPICS.status else self.announcements
        if isinstance(effect, FindBounds):
            self.open.remove(effect)
            self.feed(Done(effect, TopicBounds("t", 0, len(events))))
        elif isinstance(effect, ReadLog) and (effect.start < len(events) or effect.wait_s == 0):
            self.open.remove(effect)
            records = tuple(record(events[at], at) for at in range(effect.start, len(events)))
            self.feed(Done(effect, LogRead("t", records, len(events))))


def offsets(verdicts: Verdicts) -> list[int]:
    return [status.offset for status in verdicts.verdicts]


@pytest.mark.proves("F87")
def test_it_sends_only_the_verdicts_of_the_golden_subscriber() -> None:
    result = CommandResultMessage(
        subscriber_instance="g", subscriber=GOLDEN, command_id="c", command_offset=1, accepted=True
    )
    it = Watching(told(4), told(5, subscriber="edge-1"), result, told(6, 2), announcements=(said(offset=6),))
    verdicts = it.want(5)
    assert offsets(verdicts) == [6]
    assert verdicts.golden is not None
    assert verdicts.golden.offset == 6


def test_it_sends_nothing_before_both_topics_are_read_to_their_ends() -> None:
    it = Watching(told(4))
    it.feed(VerdictsWanted(offset=4))
    assert it.sent(Verdicts) == []
    it.read()
    assert len(it.sent(Verdicts)) == 1


@pytest.mark.proves("W13", "R12")
def test_the_verdict_with_the_highest_sequence_holds_in_any_order_of_arrival() -> None:
    it = Watching(told(4, 9, Status.IMPORTED), told(4, 7, Status.REMOVED_FAILED))
    assert [status.status for status in it.want(4).verdicts] == [Status.IMPORTED]
    it.statuses.append(told(4, 12, Status.REMOVED))
    assert [status.status for status in it.read().verdicts] == [Status.REMOVED]


def test_the_verdict_of_a_restarted_golden_subscriber_counts() -> None:
    announcements = (said(), said(State.STOPPED), said(instance="new"))
    statuses = (told(4, 90, Status.IMPORTED), told(4, 1, Status.REMOVED_FAILED, instance="new"))
    it = Watching(*statuses, announcements=announcements)
    assert [status.status for status in it.want(4).verdicts] == [Status.REMOVED_FAILED]


def test_a_verdict_on_the_awaited_package_is_sent_unasked() -> None:
    it = Watching()
    it.want(4)
    it.statuses.append(told(4))
    assert offsets(it.read()) == [4]
    it.announcements.append(said(State.BLOCKED))
    answer = it.read()
    assert answer.golden is not None
    assert answer.golden.state is State.BLOCKED


def test_verdicts_behind_the_position_are_forgotten() -> None:
    it = Watching(*(told(offset, offset) for offset in range(50)))
    it.want(40)
    decision = it.decision
    assert isinstance(decision, GoldenWatcher)
    assert len(decision._table) == 10


def test_verdicts_that_do_not_fit_in_memory_are_read_again_when_needed() -> None:
    it = Watching(*(told(offset, offset + 1) for offset in range(1000)), most=100)
    seen = []
    for offset in range(0, 1000, 50):
        seen += offsets(it.want(offset))[:50]
        decision = it.decision
        assert isinstance(decision, GoldenWatcher)
        assert len(decision._table) <= 100
    assert seen == list(range(1000))


@pytest.mark.proves("W13")
def test_a_later_verdict_on_a_package_counts_even_after_many_others() -> None:
    statuses = [told(5, 1, Status.REMOVED_FAILED), *(told(offset, offset) for offset in range(6, 500)), told(5, 600)]
    verdicts = Watching(*statuses, most=10).want(5)
    assert verdicts.verdicts[0].status is Status.IMPORTED


def test_verdicts_of_an_instance_that_is_refused_the_name_do_not_count() -> None:
    it = Watching(announcements=(said(State.IMPORTING), said(State.STOPPED, instance="rival")))
    answer = it.want(4)
    assert answer.golden is not None
    assert answer.golden.state is State.IMPORTING


def test_a_topic_that_cannot_be_read_is_reported_and_read_again() -> None:
    it = Watching()
    it.feed(VerdictsWanted(offset=4))
    (find,) = [effect for effect in it.open if effect == FindBounds(TOPICS.status)]
    it.open.remove(find)
    it.feed(Failed(find, LogUnavailable("no route")))
    assert it.sent(Verdicts)[-1].problem == "no route"
    it.statuses.append(told(4))
    it.tick(f"follow {TOPICS.status}")
    assert (offsets(it.read()), it.sent(Verdicts)[-1].problem) == ([4], "")


def test_it_stops_at_once() -> None:
    it = Watching()
    it.want(4)
    it.feed(Stopping())
    assert it.stopped


def test_a_reset_table_keeps_nothing() -> None:
    table = VerdictTable(2)
    for offset in range(5):
        table.add(told(offset), offset)
    assert (len(table), table.cut, table.again_at) == (2, 2, 2)
    table.start_over()
    assert (len(table), table.cut, table.again_at) == (0, -1, -1)
