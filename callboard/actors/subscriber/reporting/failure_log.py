"""Lines for the publisher's log: the error of an import or hook, with its stack trace, when it is new."""

from collections.abc import Iterator

from callboard.actors.core.decision import Done, Effect, Failed, Send
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.effects import ImportPackages, RunHook
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import LogMessage

TRACE_TEXT_MAX = 8000
"""Characters of a stack trace that are sent: its end, where the error is."""
LINES_MAX = 5
"""Lines about one package: an error whose text differs each time is not sent each time."""


class FailureLog:
    """Sends a line when a package fails for the first time, and when it fails differently.

    All boards read the topic of these lines, so a package tried a thousand times must not send a thousand traces.
    """

    def __init__(self, settings: SubscriberSettings) -> None:
        self._settings = settings
        self._about = ("", -1)
        self._sent: set[str] = set()

    def tell(self, outcome: Done | Failed, ledger: Ledger) -> Iterator[Effect]:
        """The import or hook has ended with this outcome."""
        if isinstance(outcome, Done) or _together(outcome.effect):
            return
        what, offset, publisher = _about(outcome)
        if self._about != (what, offset):
            self._about = what, offset
            self._sent.clear()
        text = ledger_changes.text(outcome.error)
        if text in self._sent or len(self._sent) >= LINES_MAX:
            return
        self._sent.add(text)
        line = LogMessage(
            publisher=publisher,
            subscriber_instance=ledger.instance,
            subscriber=self._settings.name,
            message=f"{what} of the package at offset {offset} failed: {text}",
            stacktrace=outcome.trace[-TRACE_TEXT_MAX:].encode(errors="replace").decode(),
        )
        yield Send(roles.ANNOUNCER, line)


def _together(effect: object) -> bool:
    """Whether several packages were tried: each is then tried alone, and sends its own error."""
    return isinstance(effect, ImportPackages) and len(effect.offsets) > 1


def _about(outcome: Failed) -> tuple[str, int, str]:
    effect = outcome.effect
    if isinstance(effect, RunHook):
        return "post-import hook", effect.due.offset, effect.due.publisher
    assert isinstance(effect, ImportPackages)
    return "import", effect.offset, effect.packages[0].publisher
