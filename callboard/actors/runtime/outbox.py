"""Collects the mail of one handled input, so that many events need few messages."""

from callboard.messages.event import Event

MAX_EVENTS_PER_MAIL = 64
"""Bounds a message; larger mail is split into several."""


class Outbox:
    """Keeps the order of events for each receiver."""

    def __init__(self) -> None:
        self._mails: list[tuple[str, int, list[Event]]] = []

    def __bool__(self) -> bool:
        return bool(self._mails)

    def put(self, role: str, question: int, event: Event) -> None:
        """Add an event; it joins the receiver's latest mail if that belongs to the same question."""
        for receiver, about, events in reversed(self._mails):
            if receiver == role:
                if about == question and len(events) < MAX_EVENTS_PER_MAIL:
                    events.append(event)
                    return
                break
        self._mails.append((role, question, [event]))

    def take(self) -> list[tuple[str, int, tuple[Event, ...]]]:
        """Empty the outbox: receiver, question and events of each mail."""
        mails, self._mails = self._mails, []
        return [(role, question, tuple(events)) for role, question, events in mails]
