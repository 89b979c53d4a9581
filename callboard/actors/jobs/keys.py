"""The keys by which jobs are unique."""

from heapq import heappop, heappush


class UniqueKeys:
    """Which job has each key: it keeps the key until it has ended, and until a time that was given with it."""

    def __init__(self) -> None:
        self._jobs: dict[str, tuple[int, int]] = {}
        self._expiring: list[tuple[int, str, int]] = []

    def owners(self) -> dict[str, tuple[int, int]]:
        """A copy: the job that has each key, and until when at least."""
        return dict(self._jobs)

    def job(self, key: str, now_ms: int) -> int | None:
        """The job that has the key."""
        while self._expiring and self._expiring[0][0] <= now_ms:
            _, expired, job = heappop(self._expiring)
            if self._jobs.get(expired, (-1, 0))[0] == job:
                del self._jobs[expired]
        found = self._jobs.get(key)
        return found[0] if found else None

    def give(self, key: str, job: int, until_ms: int) -> None:
        """Give the key to the job, until it has ended and this time has come."""
        self._jobs[key] = job, until_ms

    def ended(self, key: str, job: int, now_ms: int) -> None:
        """The job has ended; an empty key is none."""
        if self._jobs.get(key, (-1, 0))[0] != job:
            return
        if (until_ms := self._jobs[key][1]) > now_ms:
            heappush(self._expiring, (until_ms, key, job))
        else:
            del self._jobs[key]
