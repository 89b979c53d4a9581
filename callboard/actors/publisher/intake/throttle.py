"""How long a request is delayed: by the backlog of the subscribers that count."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from callboard.actors.core.decision import After, Effect, Moment, Send, note
from callboard.actors.publisher.fleet.following import counts, follows, position
from callboard.actors.publisher.roles import FLEET, QUEUE_CACHE
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView, Member
from callboard.messages.distribution.queue_mail import QueueSize, Sizes, SizesQuery
from callboard.messages.distribution.topic_messages import DiscoveryMessage
from callboard.messages.headers import addressees

FRESH_S = 1.0
"""How long a measurement holds: subscribers announce at most once a second, and packages appended since are added."""

ANSWER_S = 5.0
"""How long to wait for a measurement. Then the last one is used: a query must not hold requests up."""

TIMER = "measure"


class Tally:
    """Counts packages by recipient."""

    def __init__(self) -> None:
        self._by_name = Counter[str]()  # the empty name stands for packages without recipients

    def add(self, recipients: tuple[str, ...]) -> None:
        """Count one more, for these recipients, or for all if none is named."""
        self._by_name.update(addressees(recipients) or ("",))

    def of(self, subscriber: str) -> int:
        """How many are for this subscriber."""
        return self._by_name[""] + self._by_name[subscriber]


@dataclass(frozen=True, slots=True)
class ThrottleSettings:
    """Whose backlog counts: that of no subscriber, of ``editable`` ones, or of ``all``, and always of those in
    ``subscribers``. A backlog of up to ``at`` packages delays nothing, one of twice as many or more delays by
    ``max_s`` seconds; between the two the delay grows linearly.
    """

    by: Literal["none", "editable", "all"] = "none"
    subscribers: tuple[str, ...] = ()
    at: int = 1000
    max_s: float = 20.0


class Delay(NamedTuple):
    """A delay in seconds, and the subscriber that causes it."""

    seconds: float = 0.0
    subscriber: str = ""


class Throttle:
    """Measures the backlogs, one measurement at a time for all waiting requests.

    A silent subscriber counts until it is gone; those that stopped, are gone or were forgotten do not.
    """

    def __init__(self, settings: ThrottleSettings, publisher: str) -> None:
        self.active = settings.by != "none" or bool(settings.subscribers)
        self._settings = settings
        self._publisher = publisher
        self._backlogs: dict[str, int] = {}  # packages by subscriber
        self._fresh_until_s = 0.0
        self._appended = Tally()  # packages since the measurement
        self._asking = False
        self._counting: list[DiscoveryMessage] = []
        self._asked: dict[str, QueueSize] = {}  # by subscriber
        self._log_id = ""  # that of the packages, once known

    def knows(self, now: Moment) -> bool:
        """Whether there is a current measurement."""
        return now.mono_s < self._fresh_until_s

    def ask(self, now: Moment) -> Iterable[Effect]:
        """Begin a measurement, unless one is current or running."""
        if not self._asking and not self.knows(now):
            self._asking = True
            yield Send(FLEET, FleetQuery())
            yield After(TIMER, ANSWER_S)

    def heard(self, view: FleetView, now: Moment) -> Iterable[Effect]:
        """Handle the fleet's answer: query the queues of those that count."""
        if not self._asking:
            return  # too late
        self._counting = [member.announcement for member in view.members if self._counts(member)]
        if self._counting:
            yield from self._ask_sizes()
        else:
            yield from self._measured({}, now)

    def _ask_sizes(self) -> Iterable[Effect]:
        name = self._publisher
        self._asked = {
            said.subscriber: QueueSize(publisher=name, after=position(said, self._log_id), subscriber=said.subscriber)
            for said in self._counting
        }
        yield Send(QUEUE_CACHE, SizesQuery(queues=tuple(self._asked.values())))

    def sized(self, sizes: Sizes, now: Moment) -> Iterable[Effect]:
        """Handle the queue cache's answer."""
        asked = [(queue.subscriber, queue.after) for queue in self._asked.values()]
        if not asked or [(queue.subscriber, queue.after) for queue in sizes.queues] != asked:
            return  # the answer to an earlier question
        if sizes.log_id and sizes.log_id != self._log_id:
            self._log_id = sizes.log_id
            if any(position(said, self._log_id) != self._asked[said.subscriber].after for said in self._counting):
                yield from self._ask_sizes()
                return
        found = {name: queue.size + queue.uncounted for name, queue in zip(self._asked, sizes.queues, strict=True)}
        if sizes.problem and not any(found.values()):
            yield from self.give_up(now)
        else:
            yield from self._measured(found, now)

    def give_up(self, now: Moment) -> Iterable[Effect]:
        """No answer came: use the last measurement for a while."""
        if self._asking:
            yield note("backlog.not_measured", "warning", last_known=max(self._backlogs.values(), default=0))
            yield from self._measured(self._backlogs, now)

    def appended(self, recipients: tuple[str, ...]) -> None:
        """Add an appended package to the backlogs of these recipients."""
        self._appended.add(recipients)

    def backlog(self, subscriber: str) -> int:
        """Packages that this subscriber still has to import, as far as known."""
        return self._backlogs.get(subscriber, 0) + self._appended.of(subscriber)

    def delay(self, recipients: tuple[str, ...], ahead: Tally) -> Delay:
        """How long to delay a request for these recipients, with the packages of ``ahead`` before it."""
        meant = addressees(recipients) or self._backlogs.keys()
        counting = {name: self.backlog(name) + ahead.of(name) for name in self._backlogs if name in meant}
        if not counting:
            return Delay()
        slowest = max(sorted(counting), key=counting.__getitem__)
        above = counting[slowest] - self._settings.at
        seconds = self._settings.max_s * min(above / self._settings.at, 1.0)
        return Delay(seconds, slowest) if seconds > 0 else Delay()

    def _measured(self, backlogs: dict[str, int], now: Moment) -> Iterable[Effect]:
        self._backlogs, self._appended, self._asking, self._asked = backlogs, Tally(), False, {}
        self._fresh_until_s = now.mono_s + FRESH_S
        yield After(TIMER, -1)

    def _counts(self, member: Member) -> bool:
        said = member.announcement
        chosen = self._settings.by == "all" or (self._settings.by == "editable" and said.configuration.editable)
        return (
            (chosen or said.subscriber in self._settings.subscribers)
            and follows(said, self._publisher)
            and counts(member)
        )
