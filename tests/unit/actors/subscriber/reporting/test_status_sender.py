from dataclasses import replace
from random import Random

import pytest

from callboard.actors.core.decision import Done, Failed, Started, Stopping
from callboard.actors.core.effects import Append
from callboard.actors.core.shortening import Shortened, ShortenTopics
from callboard.actors.subscriber.reporting.status_sender import StatusSender
from callboard.errors import LogUnavailable
from callboard.messages.distribution.mailbox import StatusesPending, StatusesSent
from callboard.messages.distribution.topic_messages import CommandResultMessage, PackageStatusMessage, Status
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import settings


def status_sender() -> DecisionDriver:
    return DecisionDriver(StatusSender(settings(), Random(1)))


def pending(first: int, last: int) -> StatusesPending:
    return StatusesPending(
        statuses=tuple(
            PackageStatusMessage(
                subscriber_instance="me",
                subscriber="edge-1",
                publisher="site",
                offset=number,
                status=Status.IMPORTED,
                sequence=number,
            )
            for number in range(first, last + 1)
        )
    )


def sent(it: DecisionDriver) -> list[int]:
    return [event.sequence for event in it.sent(StatusesSent)]


def keys(append: Append) -> list[str]:
    return [record.key for record in append.records]


def test_statuses_are_appended_together_under_keys_that_make_repeats_harmless() -> None:
    it = status_sender()
    it.feed(pending(1, 3))
    assert keys(it.done(Append)) == ["me/1", "me/2", "me/3"]
    assert sent(it) == [3]
    assert not it.asks(Append)


def test_results_of_commands_go_with_the_statuses_in_the_order_of_their_sequence() -> None:
    it = status_sender()
    result = CommandResultMessage(
        subscriber_instance="me", subscriber="edge-1", command_id="c", command_offset=1, accepted=True, sequence=2
    )
    lines = pending(1, 3).statuses
    it.feed(StatusesPending(statuses=(lines[0], lines[2]), results=(result,)))
    assert keys(it.done(Append)) == ["me/1", "me/2", "me/3"]
    assert sent(it) == [3]


def test_many_statuses_go_in_batches() -> None:
    it = status_sender()
    it.feed(pending(1, 450))
    assert [len(it.done(Append).records) for _ in range(2)] == [200, 200]
    it.tick("rested")
    assert len(it.done(Append).records) == 50
    assert sent(it) == [200, 400, 450]


def test_statuses_that_arrive_one_by_one_are_gathered_for_a_moment() -> None:
    it = status_sender()
    it.feed(pending(1, 1))
    it.done(Append)
    it.feed(pending(2, 2))
    it.feed(pending(2, 9))
    assert not it.asks(Append)
    it.tick("rested")
    assert len(it.done(Append).records) == 8


def test_a_failed_append_is_retried_with_the_same_keys_and_with_backoff() -> None:
    it = status_sender()
    it.feed(pending(1, 2))
    waits = []
    for _ in range(10):
        assert keys(it.fail(Append, LogUnavailable("down"))) == ["me/1", "me/2"]
        waits.append(it.timers["again"] - it.now.mono_s)
        it.tick("again")
    assert waits[0] < 0.2
    assert 3 < waits[-1] <= 5
    assert it.notes() == ["status.failed"]
    it.done(Append)
    assert sent(it) == [2]


def test_statuses_that_become_pending_during_an_append_count_as_sent_only_after_their_own() -> None:
    it = status_sender()
    it.feed(pending(1, 5))
    it.feed(pending(4, 7))  # of a new importer, whose ledger knows that the first three were sent
    it.done(Append)
    assert sent(it) == [5]
    it.tick("rested")
    assert keys(it.done(Append)) == ["me/6", "me/7"]
    assert sent(it) == [5, 7]


def test_an_append_may_leave_nothing_pending() -> None:
    it = status_sender()
    it.feed(pending(1, 2))
    it.feed(pending(1, 0))
    it.done(Append)
    assert sent(it) == [2]


def test_stopping_sends_pending_statuses_and_the_last_ones_of_the_importer() -> None:
    it = status_sender()
    it.feed(pending(1, 250))
    it.feed(Stopping())
    it.done(Append)
    it.done(Append)
    assert not it.stopped  # the importer may still finish a package
    it.feed(replace(pending(251, 251), last=True))
    assert keys(it.done(Append)) == ["me/251"]
    assert it.stopped


def test_an_importer_that_stopped_first_is_not_waited_for() -> None:
    it = status_sender()
    it.feed(replace(pending(1, 0), last=True))
    it.feed(Stopping())
    assert it.stopped


def test_a_silent_importer_is_not_waited_for_forever() -> None:
    it = status_sender()
    it.feed(Stopping())
    it.tick("goodbye")
    assert it.stopped


@pytest.mark.proves("R18")
def test_a_failing_log_does_not_delay_a_stop() -> None:
    it = status_sender()
    it.feed(pending(1, 2))
    it.feed(Stopping())
    it.fail(Append, LogUnavailable("down"))
    assert it.stopped


def test_topics_are_shortened_soon_after_the_start_and_again_whether_or_not_it_succeeded() -> None:
    it = status_sender()
    it.feed(Started())
    for answer in (Shortened({"callboard.discovery": 5000}), Shortened(problem="newer"), LogUnavailable("away")):
        it.tick("shorten")
        (look,) = [effect for effect in it.open if isinstance(effect, ShortenTopics)]
        it.open.remove(look)
        it.feed(Failed(look, answer) if isinstance(answer, LogUnavailable) else Done(look, answer))
    it.tick("shorten")
    assert it.asks(ShortenTopics)


def test_topics_left_to_others_are_not_shortened() -> None:
    it = DecisionDriver(StatusSender(replace(settings(), shortening=None), Random(1)))
    it.feed(Started())
    assert "shorten" not in it.timers
