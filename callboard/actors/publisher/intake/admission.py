"""The requests that wait for their turn, in order, and the throttle that may delay them."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from callboard.actors.core.decision import After, Effect, Input, Moment, Tick
from callboard.actors.publisher.intake.batch import Job
from callboard.actors.publisher.intake.throttle import TIMER, Tally, Throttle, ThrottleSettings
from callboard.messages.distribution.fleet_mail import FleetView
from callboard.messages.distribution.queue_mail import Sizes
from callboard.messages.distribution.topic_messages import Kind

NEXT = "admit"
"""The timer for the first request that is throttled."""


class Admission:
    """Admits requests in order, each no earlier than the throttle allows.

    No request overtakes one that is throttled, or the log would have another order than was asked for;
    except TEST, which changes nothing and so need not wait. No caller is blocked meanwhile: the answer comes later.
    """

    def __init__(self, settings: ThrottleSettings, publisher: str) -> None:
        self._throttle = Throttle(settings, publisher)
        self._waiting: OrderedDict[str, Job] = OrderedDict()  # by request id
        self._last = (0.0, "")  # when the last measured one may go, and which subscriber delays it

    def __len__(self) -> int:
        return len(self._waiting)

    def find(self, request_id: str) -> Job | None:
        """The job waiting under this id."""
        return self._waiting.get(request_id)

    def add(self, job: Job, now: Moment) -> Iterable[Effect]:
        """Queue the job."""
        job.received_s = now.mono_s
        self._waiting[job.request.request_id] = job
        if self._throttle.active and job.request.kind is not Kind.TEST:
            yield from self._throttle.ask(now)

    def handle(self, message: Input, now: Moment) -> Iterable[Effect]:
        """Handle the answers that the throttle asked for."""
        match message:
            case FleetView():
                yield from self._throttle.heard(message, now)
            case Sizes():
                yield from self._throttle.sized(message, now)
            case Tick(key) if key == TIMER:
                yield from self._throttle.give_up(now)

    def appended(self, jobs: Iterable[Job]) -> None:
        """Count the packages of these jobs as appended."""
        for job in jobs:
            if job.request.kind is not Kind.TEST:  # no subscriber imports it
                self._throttle.appended(job.request.recipients)

    def admit(self, most: int, in_progress: Iterable[Job], now: Moment) -> Iterator[Job | After]:
        """Up to ``most`` jobs whose turn it is, and the wait for the next."""
        if self._throttle.active and self._throttle.knows(now):
            self._measure(in_progress)
        while most > 0 and (job := self._next(now)) is not None:
            del self._waiting[job.request.request_id]
            most -= 1
            yield job
        head = next((job for job in self._waiting.values() if job.due_s > now.mono_s), None)
        if head is not None:
            yield After(NEXT, head.due_s - now.mono_s)

    def held_up(self, now: Moment) -> tuple[str, int, float]:
        """The subscriber that delays the first request, how many packages it has before that one, and for how many
        seconds more; an empty name if none is delayed.
        """
        head = next((job for job in self._waiting.values() if job.due_s > now.mono_s), None)
        if head is None:
            return "", 0, 0.0
        return head.throttled_by, self._throttle.backlog(head.throttled_by), head.due_s - now.mono_s

    def drain(self) -> Iterator[Job]:
        """All jobs, which wait no longer."""
        while self._waiting:
            yield self._waiting.popitem(last=False)[1]

    def _next(self, now: Moment) -> Job | None:
        """The first that may go. None is due before an earlier one, so the order stays."""
        return next((job for job in self._waiting.values() if self._may_go(job, now)), None)

    def _may_go(self, job: Job, now: Moment) -> bool:
        free = not self._throttle.active or job.request.kind is Kind.TEST
        return free or (job.measured and job.due_s <= now.mono_s)

    def _measure(self, in_progress: Iterable[Job]) -> None:
        if all(job.measured or job.request.kind is Kind.TEST for job in self._waiting.values()):
            return
        ahead = Tally()
        for job in (*in_progress, *self._waiting.values()):
            if job.request.kind is Kind.TEST:
                continue
            if not job.measured and job.request.request_id in self._waiting:
                delay = self._throttle.delay(job.request.recipients, ahead)
                self._last = max(self._last, (job.received_s + delay.seconds, delay.subscriber))
                job.measured = True
                job.due_s, job.throttled_by = self._last
                job.throttled_ms = round(max(job.due_s - job.received_s, 0.0) * 1000)
            ahead.add(job.request.recipients)
