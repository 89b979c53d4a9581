"""Which queue a topic belongs to, and how it is run."""

from callboard.actors.jobs.topics import matched
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import JobQueue
from callboard.messages.jobs.limits import UNSAFE

MAIN = JobQueue(name="main", topics=("**",))
"""The queue of topics that match no other, unless one with its name is configured."""


class Queues:
    """The queues that are configured. ``suspended`` has the names of those that start no jobs."""

    def __init__(self) -> None:
        self.suspended: set[str] = set()
        self._configured: dict[str, JobQueue] = {}
        self._found: dict[str, JobQueue] = {}

    def configure(self, queue: JobQueue) -> None:
        """Add the queue, or replace one of the same name, which keeps its place."""
        self._configured[queue.name] = queue
        self._found.clear()

    def remove(self, name: str) -> None:
        """Remove the queue; its topics go to those that match them otherwise."""
        self._configured.pop(name, None)
        self._found.clear()

    @property
    def configured(self) -> tuple[JobQueue, ...]:
        """The queues, in the order in which they were configured first."""
        return tuple(self._configured.values())

    @property
    def names(self) -> set[str]:
        """The names that are known before there is a job."""
        plain = (safe(name) for name in self._configured if "{0}" not in name)
        return {MAIN.name, *self.suspended, *plain}

    def of(self, topic: str) -> JobQueue:
        """The queue of the topic: of those that match, the one with the highest ranking, then the one configured first.

        Its name has the part that a pattern matched in place of ``{0}``.
        """
        return self._found.get(topic) or self._found.setdefault(topic, self._find(topic))

    def _find(self, topic: str) -> JobQueue:
        for queue in sorted(self._configured.values(), key=lambda queue: -queue.ranking):
            for pattern in queue.topics:
                if match := matched(pattern, topic):
                    return replaced(queue, name=safe(queue.name.replace("{0}", match.part)))
        return self._configured.get(MAIN.name, MAIN)


def safe(name: str) -> str:
    """The name of a queue with other than a few safe characters replaced."""
    name = UNSAFE.sub("_", name)
    return f"_{name}" if name[:1].isdigit() else name
