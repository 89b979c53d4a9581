"""The states of a job."""

from enum import IntEnum


class JobState(IntEnum):
    """``QUEUED`` also for a job that waits for a retry. The states from ``SUCCEEDED`` on are final."""

    QUEUED = 0
    ACTIVE = 1
    SUCCEEDED = 2
    STOPPED = 3
    GIVEN_UP = 4
    ERROR = 5
    DROPPED = 6

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return self >= JobState.SUCCEEDED


OPEN = tuple(state for state in JobState if not state.is_final)
ENDED = tuple(state for state in JobState if state.is_final)
