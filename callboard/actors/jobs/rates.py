"""How many jobs of each queue were started lately, for those with a limit of rate."""

from collections.abc import Iterable, Iterator

from callboard.messages.jobs.job_messages import JobQueue

PARTS = 100
"""Starts within this part of the period are counted together, and as late as the last of them: the limit holds, and
memory stays small."""


Starts = tuple[str, int, int, int]
"""A queue, the first and the last time of some starts, and how many these are."""


class Rates:
    """Starts by queue, in the time of the log: in any period of the queue there are no more than its rate."""

    def __init__(self) -> None:
        self._starts: dict[str, list[tuple[int, int, int]]] = {}  # the first and the last time, and how many
        self.refused: set[str] = set()
        """Queues whose jobs were refused a start since the planner looked."""

    def __iter__(self) -> Iterator[Starts]:
        return ((name, *its) for name, begun in self._starts.items() for its in begun)

    def begin(self, starts: Iterable[Starts]) -> None:
        """Go on from the starts of a snapshot."""
        for name, *its in starts:
            self._starts.setdefault(name, []).append((its[0], its[1], its[2]))

    def left(self, queue: JobQueue, now_ms: int) -> int:
        """How many jobs of the queue, which has a limit, may start now."""
        return max(0, queue.rate - sum(many for _, _, many in self._counted(queue, now_ms)))

    def next_ms(self, queue: JobQueue, now_ms: int) -> int:
        """When another may start, if none may now."""
        return queue.rate_ms + min((last_ms for _, last_ms, _ in self._counted(queue, now_ms)), default=now_ms)

    def _counted(self, queue: JobQueue, now_ms: int) -> list[tuple[int, int, int]]:
        """The starts that count now. Those that are later by more than a period do not: the clock was set back."""
        begun, period = self._starts.get(queue.name, ()), queue.rate_ms
        return [each for each in begun if now_ms - period < each[1] <= now_ms + period]

    def start(self, queue: JobQueue, now_ms: int) -> bool:
        """A job of the queue, which has a limit, is to start: whether it may."""
        if any(last_ms > now_ms + queue.rate_ms for _, last_ms, _ in self._starts.get(queue.name, ())):
            self._set_back(queue.name, now_ms)
        if not self.left(queue, now_ms):
            self.refused.add(queue.name)
            return False
        begun = self._counted(queue, now_ms)
        joins = begun and now_ms - begun[-1][0] < queue.rate_ms // PARTS
        first_ms, last_ms, many = begun.pop() if joins else (now_ms, now_ms, 0)
        self._starts[queue.name] = [*begun, (first_ms, max(last_ms, now_ms), many + 1)]
        return True

    def set_back(self, now_ms: int) -> None:
        """Another dispatcher begins: what seems to start later, by the clock of the last one, counts as of now."""
        for name in self._starts:
            self._set_back(name, now_ms)

    def _set_back(self, name: str, now_ms: int) -> None:
        begun = self._starts[name]
        self._starts[name] = [(min(first, now_ms), min(last, now_ms), many) for first, last, many in begun]
