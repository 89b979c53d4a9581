"""What became of jobs since the topic began."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields

from callboard.messages.jobs.job_state import JobState

SUCCEEDED = int(JobState.SUCCEEDED)  # which compares several times as fast

WORKERS_MAX = 1000
"""Instances with a tally, the latest: names of hosts may never come again."""


@dataclass(slots=True)
class Tally:
    """Jobs that were started, how long they had waited until then, and those that have ended, by state; how long those
    ran that succeeded, and how many attempts have ``failed``.
    """

    started: int = 0
    waited_ms: int = 0
    ran_ms: int = 0
    failed: int = 0
    succeeded: int = 0
    stopped: int = 0
    given_up: int = 0
    error: int = 0
    dropped: int = 0

    def ended(self, state: int) -> None:
        """A job has ended, with this ``JobState``."""
        if state == SUCCEEDED:
            self.succeeded += 1
            return
        self.stopped += state == JobState.STOPPED
        self.given_up += state == JobState.GIVEN_UP
        self.error += state == JobState.ERROR
        self.dropped += state == JobState.DROPPED

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


class Tallies:
    """Tallies by the number of the topic, and by the instance of the worker, of the attempts on it. ``since_ms`` is
    when the first job was added.
    """

    def __init__(self) -> None:
        self.since_ms = 0
        self.topics: list[Tally] = []
        self.workers: dict[str, Tally] = {}

    def topic(self, number: int) -> Tally:
        """The tally of a topic."""
        while len(self.topics) <= number:
            self.topics.append(Tally())
        return self.topics[number]

    def together(self, numbers: Iterable[int]) -> Tally:
        """The tally of several topics."""
        return sum(map(self.topic, numbers), Tally())

    def worker(self, instance: str) -> Tally:
        """The tally of a worker."""
        if (found := self.workers.get(instance)) is None:
            found = self.workers[instance] = Tally()
            if len(self.workers) > WORKERS_MAX:
                del self.workers[next(iter(self.workers))]
        return found


def flat(tallies: Iterable[Tally]) -> tuple[int, ...]:
    """The numbers of all tallies, one after another."""
    return tuple(number for each in tallies for number in astuple(each))


def tallies(numbers: tuple[int, ...]) -> Iterator[Tally]:
    """The tallies of these numbers. Raises ``TypeError`` if one has too few."""
    size = len(fields(Tally))
    return (Tally(*numbers[start : start + size]) for start in range(0, len(numbers), size))
