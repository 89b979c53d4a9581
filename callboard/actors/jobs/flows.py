"""Jobs that wait for the end of others."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from callboard.actors.jobs.job_table import FORGOTTEN, JobTable
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobOptions, job_id, offset_of, place_of
from callboard.messages.jobs.job_state import OPEN, JobState

UNHARMED = bytes((*OPEN, JobState.SUCCEEDED, FORGOTTEN))

Range = tuple[int, int]
"""The first id and the number of jobs."""


@dataclass(slots=True)
class _Group:
    """A range that jobs wait for: how many of it have not ended, and those that wait, also after failures or not."""

    left: int
    strict: list[int] = field(default_factory=list)
    lenient: list[int] = field(default_factory=list)


class Flows:
    """Which jobs wait for the end of others; it can be rebuilt from the table and the options.

    All that wait for the same range share a group, so the end of a job costs the same for one of them as for many.
    """

    def __init__(self, table: JobTable, options: Mapping[int, JobOptions]) -> None:
        self._table, self._options = table, options
        self._left: dict[int, int] = {}  # ranges that have not ended, of each job that waits
        self._groups: dict[Range, _Group] = {}
        self._wide: defaultdict[int, list[Range]] = defaultdict(list)  # of several jobs, by offset

    def __contains__(self, job: object) -> bool:
        return job in self._left

    @property
    def is_used(self) -> bool:
        """Whether there are jobs to wait for."""
        return bool(self._groups)

    def waits_for(self, job: int) -> int:
        """How many jobs have not ended that the job waits for."""
        found = (self._groups.get(each) for each in ranges(self._options[job])) if job in self._left else ()
        return sum(group.left for group in found if group)

    def ended_ms(self, options: JobOptions) -> int:
        """When the last of the jobs ended that a job with these options has waited for, of those that are known."""
        found = (self._table.since_ms[self._rows(*each)] for each in ranges(options))
        return max((max(times_ms, default=0) for times_ms in found), default=0)

    def begin(self) -> None:
        """Have all jobs with options of a snapshot wait that have to."""
        for job in self._options:
            self.enter(job)

    def unknown(self, job: int, options: JobOptions) -> int | None:
        """One of the jobs to wait for that is not known, or not older than this job."""
        for first, many in ranges(options):
            states = self._states(first, many)
            if FORGOTTEN in states or len(states) < many or first + many > job:
                return next(each for each in range(first, first + many) if each >= job or self._table.find(each) < 0)
        return None

    def enter(self, job: int) -> bool:
        """Have the job wait, if any of the jobs before it has not ended. Returns False if it never can run."""
        options = self._options[job]
        found = [(each, self._states(*each)) for each in ranges(options)]
        if not options.after_failures and any(states.translate(None, UNHARMED) for _, states in found):
            return False
        for its, states in found:
            if left := sum(map(states.count, OPEN)):
                if (group := self._groups.get(its)) is None:
                    group = self._groups[its] = _Group(left)
                    if its[1] > 1:
                        self._wide[offset_of(its[0])].append(its)
                (group.lenient if options.after_failures else group.strict).append(job)
                self._left[job] = self._left.get(job, 0) + 1
        return True

    def ended(self, job: int, *, succeeded: bool) -> tuple[list[int], list[int]]:
        """The job has ended: returns the jobs that can run now, and those that never can."""
        self._left.pop(job, None)
        ready, void = list[int](), list[int]()
        for its in self._including(job):
            group = self._groups[its]
            group.left -= 1
            if not succeeded:
                void += [each for each in group.strict if self._left.pop(each, None)]
                group.strict.clear()
            if not group.left:
                self._remove(its)
                ready += [each for each in sorted((*group.strict, *group.lenient)) if self._has_ended_for(each)]
        return ready, void

    def _has_ended_for(self, job: int) -> bool:
        """A range of the job has ended; whether it was the last one."""
        left = self._left.pop(job, 0) - 1
        if left > 0:
            self._left[job] = left
        return left == 0

    def _including(self, job: int) -> list[Range]:
        wide = self._wide.get(offset_of(job), ())
        single = [(job, 1)] if (job, 1) in self._groups else []
        return [*single, *((first, many) for first, many in wide if first <= job < first + many)]

    def _remove(self, its: Range) -> None:
        del self._groups[its]
        if its[1] > 1:
            (wide := self._wide[offset_of(its[0])]).remove(its)
            if not wide:
                del self._wide[offset_of(its[0])]

    def _states(self, first: int, many: int) -> bytes:
        return self._table.states[self._rows(first, many)].tobytes()

    def _rows(self, first: int, many: int) -> slice:
        return slice(bisect_left(self._table.ids, first), bisect_left(self._table.ids, first + many))


def placed(options: JobOptions, offset: int, earlier: Sequence[str], requests: Mapping[str, int]) -> JobOptions:
    """The options of a job of the record at this offset, with the ids of all jobs that it waits for; those of a request
    that is forgotten are negative.
    """
    offsets = [offset, *(requests.get(request, -1) for request in earlier)]
    first = (each if each >= 0 else job_id(offsets[-1 - offset_of(each)], place_of(each)) for each in options.after)
    return replaced(options, after=tuple(first))


def ranges(options: JobOptions) -> Iterator[Range]:
    """The ranges of jobs that a job with these options waits for."""
    return zip(options.after, options.after_counts, strict=True)
