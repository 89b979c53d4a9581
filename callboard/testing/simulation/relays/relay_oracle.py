"""The oracle of one host of a relay: what it says that it has processed is at its site."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from callboard.actors.core.decision import Perform
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.effects import ImportPackages
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import Status
from callboard.messages.event import replaced
from callboard.testing.fakes.memory_repository import Node
from callboard.testing.simulation.distribution.oracles.subscriber_oracle import (
    FOREIGN,
    Outcome,
    Step,
    SubscriberOracle,
)
from callboard.testing.simulation.distribution.scene import Scene
from callboard.testing.simulation.distribution.truth import Sent, Tree, touch


@dataclass(frozen=True, slots=True)
class Passage:
    """From one place to another by a relay.

    ``owed`` has what the first has of this log up to this offset, and the second has not, without a reason.
    ``unsettled``: the log of one of them was exchanged just now. ``excused`` are the ids of packages that need not be
    at the second.
    """

    owed: Callable[[str, int], Iterable[Sent]]
    unsettled: Callable[[], bool]
    excused: set[str] = field(default_factory=set)


class RelayOracle(SubscriberOracle):
    """Its content is the site's log; it is stored separately from the ledger, so nothing is checked at a commit."""

    def __init__(self, passage: Passage, scene: Scene, name: str, settings: Callable[[], SubscriberSettings]) -> None:
        super().__init__(scene, name, settings)
        self._passage = passage
        self._begun: ImportPackages | None = None

    def concerns(self, sent: Sent) -> bool:
        """Whether the relay has to pass it on; by paths if it has ``include``."""
        settings, act = self._settings(), sent.act
        meant = not act.recipients or any(f"{each}/".startswith(f"{self._name}/") for each in act.recipients)
        followed = not settings.follows or act.publisher in settings.follows
        within = not settings.include or act.harm == "newer" or touch([act.path], settings.include)
        return meant and followed and within

    def begins(self, effect: Perform) -> None:
        """See ``SubscriberOracle``."""
        super().begins(effect)
        if isinstance(effect, ImportPackages):
            self._begun = effect

    def wrote(self, tree: dict[str, Node], ledger: bytes, durable: bool, effect: ImportPackages | None) -> None:
        """See ``Witness``: the ledger that ends an import is stored as any other."""
        if self._begun is not None and _plain(codec.decode(Ledger, ledger)) == _plain(self._begun.ledger):
            effect, self._begun = self._begun, None
        super().wrote(tree, ledger, durable, effect)

    def _check_commit(self, effect: ImportPackages) -> None:
        """Its lease was checked before the append; the ledger may be stored after that."""

    def _check_content(self, step: Step, before: Tree, tree: dict[str, Node]) -> None:
        del before, tree
        if not self._passage.unsettled():
            lacking = self._passage.owed(step.new.log_id, max(step.applied))
            owed = [sent.offset for sent in lacking if sent.offset in step.applied]
            self._demand(not owed, "what is relayed is at the site", f"{owed} of {step.applied}")

    def _unreported(self, step: Step, offset: int) -> Outcome:
        found = super()._unreported(step, offset)
        return FOREIGN if found is Status.SUPERSEDED and not step.old.positioned else found  # found at the site

    def _judge(self, step: Step, offset: int, before: Outcome | None, outcome: Outcome) -> None:
        if outcome not in (Status.IMPORTED, FOREIGN):
            self._passage.excused.add(self._packages[offset].record_id)
        super()._judge(step, offset, before, outcome)


def _plain(ledger: Ledger) -> Ledger:
    """Without what only the relay's world finds out."""
    return replaced(ledger, site_log_id="", site_next=-1, site_relayed=-1)
