"""Announces that requests are throttled: by which subscriber, since when, and for how long."""

from collections.abc import Iterator

from callboard.actors.core.decision import After, Effect, Moment, note
from callboard.actors.core.effects import Append
from callboard.messages.distribution.topic_messages import ThrottledMessage
from callboard.messages.headers import new_record

TIMER = "notice"

WORTH_S = 1.0
"""A request delayed by less than this is not worth a record."""
AGAIN_S = 10.0
"""Between two notices while it lasts; readers take it as over after three."""
OVER_S = 5.0
"""It is over when nothing was delayed for this long: who publishes one package after another is delayed each time."""


class ThrottleNotice:
    """Writes to the discovery topic, and never waits for that: the next record repeats it."""

    OWNER = "notice"

    def __init__(self, topic: str, publisher: str, instance: str, producer: str) -> None:
        self._topic = topic
        self._publisher = publisher
        self._instance = instance
        self._producer = producer
        self._since_ns = 0  # no notice is active while 0
        self._told_s = float("-inf")
        self._last_s = 0.0  # until when a request is delayed
        self._notices = 0

    def update(self, subscriber: str, backlog: int, delay_s: float, waiting: int, now: Moment) -> Iterator[Effect]:
        """The first request is delayed for ``delay_s``, by this subscriber with this backlog; empty if by none."""
        if delay_s >= WORTH_S or (subscriber and self._since_ns):
            self._since_ns, self._last_s = self._since_ns or now.wall_ns, now.mono_s + delay_s
            if now.mono_s - self._told_s >= AGAIN_S:
                yield from self._tell(subscriber, backlog, waiting, delay_s, now)
            yield After(TIMER, AGAIN_S - (now.mono_s - self._told_s))
        elif self._since_ns and now.mono_s - self._last_s >= OVER_S:
            yield from self._tell("", 0, 0, 0.0, now)
            self._since_ns, self._told_s = 0, float("-inf")
            yield After(TIMER, -1)
        elif self._since_ns:
            yield After(TIMER, OVER_S - (now.mono_s - self._last_s))

    def _tell(self, subscriber: str, backlog: int, waiting: int, delay_s: float, now: Moment) -> Iterator[Effect]:
        self._told_s = now.mono_s
        self._notices += 1
        message = ThrottledMessage(
            publisher=self._publisher,
            publisher_instance=self._instance,
            subscriber=subscriber,
            backlog=backlog,
            waiting=waiting,
            delay_ms=round(delay_s * 1000),
            since_ns=self._since_ns,
            time_ns=now.wall_ns,
        )
        name = f"throttled/{self._instance}/{self._notices}"
        record = new_record(message, record_id=name, time_ns=now.wall_ns, producer=self._producer, key=name)
        yield Append(self._topic, (record,), owner=self.OWNER)
        yield note("requests.throttled" if subscriber else "requests.released", subscriber=subscriber, backlog=backlog)
