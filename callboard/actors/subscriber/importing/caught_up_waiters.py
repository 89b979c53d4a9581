"""The callers that wait until everything on the log at the time of their query is processed."""

from callboard.actors.core.decision import Origin


class CaughtUpWaiters:
    """Has the end of the log looked up after each query, never before, and waits until it is reached."""

    def __init__(self) -> None:
        self._asked: list[Origin] = []
        self._looked_up: list[Origin] = []
        self._targets: list[tuple[int, Origin]] = []

    def ask(self, origin: Origin) -> None:
        """Add a caller."""
        self._asked.append(origin)

    @property
    def curious(self) -> bool:
        """Whether the end must be looked up."""
        return bool(self._asked)

    def look(self) -> None:
        """The end is being looked up, for all callers so far."""
        self._looked_up, self._asked = self._looked_up + self._asked, []

    def found(self, end: int) -> None:
        """These callers wait until every record below ``end`` is processed."""
        self._targets += [(end, origin) for origin in self._looked_up]
        self._looked_up = []

    def not_found(self) -> None:
        """The end must be looked up again."""
        self._asked, self._looked_up = self._looked_up + self._asked, []

    def settled(self, reached: int, *, trying: bool, stuck: bool) -> list[tuple[Origin, bool]]:
        """The callers that need not wait longer, and whether they have what they wait for: every record below
        ``reached`` is processed, and none of them is being retried. When ``stuck``, the others are answered, too.
        """
        done = [(origin, end <= reached) for end, origin in self._targets if (not trying if end <= reached else stuck)]
        if done:
            answered = {origin for origin, _ in done}
            self._targets = [(end, origin) for end, origin in self._targets if origin not in answered]
        return done
