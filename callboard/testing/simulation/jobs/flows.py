"""What must hold for jobs that wait for others."""

from collections.abc import Iterator, Mapping

from callboard.messages.jobs.job_messages import JobOptions, job_id, offset_of, place_of
from callboard.messages.jobs.job_state import JobState
from callboard.testing.simulation.jobs.book import Book


class Flows:
    """Knows by the ``books`` of all jobs which of them wait for others."""

    def __init__(self, books: Mapping[int, Book]) -> None:
        self._books = books
        self._waiting: dict[int, Book] = {}

    def __contains__(self, job: object) -> bool:
        return job in self._waiting

    def are_known(self, job: int, before: tuple[int, ...]) -> bool:
        """Whether the job may wait for these."""
        return all(each < job and each in self._books and not self._books[each].forgotten for each in before)

    def add(self, job: int) -> None:
        """The job is new."""
        self._waiting[job] = self._books[job]
        self.settle()

    def settle(self) -> None:
        """Drop what never can run, and have run what has waited long enough."""
        before = -1
        while before != (before := len(self._waiting)):
            for job, book in list(self._waiting.items()):
                states = [self._books[each].state for each in book.before]
                harmed = any(state.is_final and state != JobState.SUCCEEDED for state in states)
                if book.is_open and harmed and not book.options.after_failures:
                    book.ends(JobState.DROPPED)
                    book.commanded = True
                if not book.is_open or all(state.is_final for state in states):
                    del self._waiting[job]


def before(options: JobOptions, offset: int, earlier: tuple[str, ...], requests: Mapping[str, int]) -> Iterator[int]:
    """The jobs that one of the record at this offset waits for; -1 for those of unknown requests."""
    for first, many in zip(options.after, options.after_counts, strict=True):
        at = offset_of(first)
        at = offset if at == -1 else requests.get(earlier[-2 - at], -1) if at < 0 else at
        yield from (job_id(at, place_of(first) + each) if at >= 0 else -1 for each in range(many))
