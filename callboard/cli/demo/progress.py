"""The state of the demo, for display."""

from dataclasses import dataclass, field

from callboard.board.views import BoardStatus, SubscriberStatus


@dataclass
class Progress:
    """Updated while the demo runs."""

    doing: str = "starting"
    news: list[str] = field(default_factory=list)
    status: BoardStatus = field(default_factory=lambda: BoardStatus((), ()))

    def tell(self, what: str) -> None:
        """Add an event."""
        self.news.append(what)

    def row(self, subscriber: str) -> SubscriberStatus | None:
        """The status of this subscriber, if known."""
        return next((row for row in self.status.subscribers if row.name == subscriber), None)
