"""When to exchange announcements over a connector, and with which of its URLs."""

from collections.abc import Callable
from dataclasses import dataclass

from callboard.actors.topology.announcements.registry import Clusters, Registry, Source
from callboard.messages.event import replaced
from callboard.messages.topology.connector_messages import Announcement

JITTER = 0.1
"""The part of a wait by which it may be shorter, so that connectors started together spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """An exchange takes place every ``interval_ms``. Without another, announcements are forgotten after ``timeout_ms``.

    Between neighbours that have had no news for a timeout, the interval is twice as long after two timeouts, and so on
    up to ``stable_factor`` times. It is that long at once for a connector that stands by. Announcements are then kept
    longer by as much.
    """

    interval_ms: int = 10_000
    timeout_ms: int = 30_000
    stable_factor: int = 5

    @property
    def longest_ms(self) -> int:
        """The longest wait for the next exchange."""
        return self.interval_ms * self.stable_factor

    def wait_ms(self, stable_ms: int) -> int:
        """How long to wait for the next exchange after this time without news."""
        return self.interval_ms * max(1, min(stable_ms // self.timeout_ms, self.stable_factor))

    def keep_ms(self, wait_ms: int) -> int:
        """How long an announcement is kept if the next follows after ``wait_ms``."""
        return wait_ms + self.timeout_ms - self.interval_ms


class Connector:
    """A connector of ``registry``'s instance to the first of ``urls`` that works; ``draw`` gives random numbers in 0-1.

    ``url`` is the one in use, ``neighbour`` the instance that answered there, and ``problem`` why there is none;
    ``source`` is what its answers are kept under. It ``stands_by`` while its neighbour tells nothing that is not known
    from others as well.
    """

    def __init__(self, urls: tuple[str, ...], timing: Timing, registry: Registry, draw: Callable[[], float]) -> None:
        self.urls = urls
        self.url = self.neighbour = self.problem = ""
        self.due_ms = 0
        self._timing, self._registry, self._draw = timing, registry, draw
        self.source = Source(urls[0], answered=True)
        self._said: Clusters = ()
        self._stable_since_ms: int | None = None
        self._wait_ms = timing.interval_ms
        self._was_mute = self.stands_by = False

    def reconsider(self) -> None:
        """Make the next exchange due at once if there is something to say that the neighbour has not been told, or if
        what it tells is no longer known from others.
        """
        said = self._registry.said_to(self.neighbour)
        if said is not None and (said != self._said if self.url else self._was_mute):
            self.due_ms = 0
        if self.stands_by and not self._registry.is_spare(self.source):
            self.due_ms, self.stands_by = 0, False

    def leave(self, url: str) -> None:
        """Never use this URL again. Without another one, there is no further exchange."""
        self.urls = tuple(each for each in self.urls if each != url)

    def request(self, neighbour: str, now_ms: int) -> Announcement | None:
        """What to send to this neighbour now; None while there is nothing to say."""
        clusters = self._registry.said_to(neighbour)
        self._was_mute = clusters is None
        if clusters is None:
            return None
        is_stable = self._stable_since_ms is not None and self.url == self.urls[0] and clusters == self._said
        self.stands_by = is_stable and self._registry.is_spare(self.source)
        stable_ms = now_ms - (self._stable_since_ms or 0) if is_stable else 0
        self._wait_ms = self._timing.longest_ms if self.stands_by else self._timing.wait_ms(stable_ms)
        return Announcement(keep_ms=self._timing.keep_ms(self._wait_ms), clusters=clusters)

    def answered(self, url: str, neighbour: str, said: Announcement, answer: Announcement, now_ms: int) -> bool:
        """Keep the answer to a request; returns whether there is news in it."""
        is_news = self._registry.hear(self.source, replaced(answer, keep_ms=said.keep_ms), now_ms)
        if is_news or said.clusters != self._said or self._stable_since_ms is None:
            self._stable_since_ms = now_ms
            self._wait_ms = self._timing.interval_ms
        self.url, self.neighbour, self.problem = url, neighbour, ""
        self._said = said.clusters
        self._wait(now_ms)
        return is_news

    def failed(self, problem: str, now_ms: int) -> None:
        """No URL worked: try again after an interval. The last answer is kept until it expires."""
        self.url, self.problem = "", problem
        self._stable_since_ms, self._wait_ms = None, self._timing.interval_ms
        self._wait(now_ms)

    def _wait(self, now_ms: int) -> None:
        self.due_ms = now_ms + self._wait_ms - int(self._wait_ms * JITTER * self._draw())
