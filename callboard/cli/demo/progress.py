"""What the onlooker of the demo is shown."""

from dataclasses import dataclass, field

from callboard.board.views import BoardStatus, SubscriberStatus


@dataclass
class Progress:
    """Kept up to date while the demo runs."""

    doing: str = "starting"
    told: list[str] = field(default_factory=list)
    status: BoardStatus = field(default_factory=lambda: BoardStatus((), ()))

    def tell(self, what: str) -> None:
        """Something happened."""
        self.told.append(what)

    def row(self, subscriber: str) -> SubscriberStatus | None:
        """What is known of this subscriber."""
        return next((row for row in self.status.subscribers if row.name == subscriber), None)
