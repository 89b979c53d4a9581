"""Decides whether there was a reason not to import a package."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.staging.golden_gate import GOOD
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.topic_messages import CommandMessage, PackageStatusMessage, Status
from callboard.testing.simulation.distribution.scene import Scene
from callboard.testing.simulation.distribution.truth import Sent, touch

Hook = tuple[int, str]
"""The offset and the id of its package. It is owed also when the log is gone that had it: another may give its offset
to another package."""


def hook_of(each: HookDue | PackageStatusMessage) -> Hook:
    """Which hook this is about."""
    return each.offset, each.package_id


@dataclass(slots=True)
class Excuses:
    """The commands, attempts and hook calls so far: nothing else excuses a subscriber."""

    scene: Scene
    settings: Callable[[], SubscriberSettings]
    packages: Callable[[], dict[int, Sent]]
    """The subscriber's current log."""
    tries: Counter[int] = field(default_factory=Counter)
    """Stored attempts at a single package, by offset."""
    calls: Counter[Hook] = field(default_factory=Counter)
    """Stored calls of post-import hooks."""

    def missing(
        self, ledger: Ledger, held: Collection[int], offset: int, before: Status | str | None, outcome: Status
    ) -> str:
        """The missing condition, if any. ``held`` is all that was quarantined before the transaction or in it."""
        match outcome:
            case Status.REMOVED:
                dismissed = before is Status.REMOVED_FAILED and self._skipped(ledger, offset)
                cleared = self._cleared(ledger, offset, was_held=before is Status.HELD)
                return "" if dismissed or cleared else "no command asks for that"
            case Status.SKIPPED:
                return "" if self._skipped(ledger, offset) or self._left_out(offset) else "no command asks for that"
            case Status.REMOVED_FAILED:
                return self._failed(offset)
            case Status.HELD:
                waits = any(other < offset and touch([self._path(other)], [self._path(offset)]) for other in held)
                return "" if waits else self._failed(offset)
        return ""

    def missing_of_hook(self, ledger: Ledger, status: PackageStatusMessage, failures: Collection[Hook]) -> str:
        """The same for a status of a hook. ``failures`` are the hooks that were reported as failed."""
        if status.status is Status.HOOK_FAILED:
            most, calls = self.settings().hooks.max_retries, self.calls[hook_of(status)]
            return "" if 0 <= most < calls else f"its hook was called {calls} times"
        ended = hook_of(status) in failures or self._skipped(ledger, status.offset)
        return "" if ended else "its hook had not failed"

    def _failed(self, offset: int) -> str:
        settings = self.settings()
        harmed = self.packages()[offset].act.harm or self.scene.count["corrupt blobs"]
        if harmed and settings.on_undecodable == "dead_letter":
            return ""
        tried = 0 <= settings.max_retries < self.tries[offset]
        return "" if tried else f"it was tried {self.tries[offset]} times of {settings.max_retries + 1}"

    def _commands(self, ledger: Ledger) -> Iterator[CommandMessage]:
        """Commands to this repository that it has received; those to others excuse nothing."""
        for offset, command in self.scene.commands[self.settings().name]:
            heard = offset <= ledger.command_offset or self.scene.exchanged
            if heard and command.subscriber_instance == ledger.instance:
                yield command

    def _cleared(self, ledger: Ledger, offset: int, *, was_held: bool) -> bool:
        publisher = self.packages()[offset].act.publisher
        return any(
            order.clear is not None
            and order.clear.offset >= offset
            and (order.position < offset or was_held)
            and order.publisher in ("", publisher)
            for order in self._commands(ledger)
        )

    def _skipped(self, ledger: Ledger, offset: int) -> bool:
        return any(order.skip is not None and order.skip.offset == offset for order in self._commands(ledger))

    def _left_out(self, offset: int) -> bool:
        golden = self.settings().golden
        lines = self.scene.statuses[golden].values() if golden else ()
        return any(line.offset == offset and line.status not in GOOD for line in lines)

    def _path(self, offset: int) -> str:
        return self.packages()[offset].act.path
