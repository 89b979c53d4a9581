"""The oracle of one subscriber: after every transaction, compares its repository with what it should hold."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from callboard.actors.core.decision import Perform
from callboard.actors.runtime.simulated.simulated import EPOCH_NS
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.effects import ImportPackages, RunHook
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import Kind, PackageStatusMessage, Status
from callboard.testing.fakes.memory_repository import Node
from callboard.testing.simulation.distribution.oracles.excuses import Excuses, Hook, hook_of
from callboard.testing.simulation.distribution.scene import Line, Scene
from callboard.testing.simulation.distribution.truth import Sent, Tree, change, seen, touch

FOREIGN = "foreign"
GONE = "gone"
"""It was trimmed before this subscriber reached it, and the subscriber may continue after such a gap."""

ENDS_OF_HOOKS = (Status.HOOK_FAILED, Status.HOOK_SETTLED)

Outcome = Status | str


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction: the ledger before and after it, and its import, if any."""

    old: Ledger
    new: Ledger
    effect: ImportPackages | None

    @property
    def lines(self) -> dict[int, list[Status]]:
        """The statuses of packages that it promises, by offset."""
        found: dict[int, list[Status]] = {}
        for line in self._promised:
            if line.status not in ENDS_OF_HOOKS:
                found.setdefault(line.offset, []).append(line.status)
        return found

    @property
    def ends(self) -> list[PackageStatusMessage]:
        """The ends of hooks that it promises to tell."""
        return [line for line in self._promised if line.status in ENDS_OF_HOOKS]

    @property
    def _promised(self) -> Iterator[PackageStatusMessage]:
        return (line for line in self.new.outbox if line.sequence >= self.old.next_sequence)

    @property
    def held(self) -> set[int]:
        """What was quarantined before it, or in it, even if it finally left that out for a later package."""
        reported = {offset for offset, statuses in self.lines.items() if Status.HELD in statuses}
        return {each.offset for each in (*self.old.held, *self.new.held)} | reported

    @property
    def applied(self) -> tuple[int, ...]:
        """The packages whose content it changed."""
        return self.effect.offsets if self.effect is not None else ()


class SubscriberOracle:
    """Follows one repository, across all instances that write it."""

    def __init__(self, scene: Scene, name: str, settings: Callable[[], SubscriberSettings]) -> None:
        self._scene = scene
        self._name = name
        self._settings = settings
        self._excuses = Excuses(scene, settings, lambda: self._packages)
        self._history = 0  # which of the scene's it is at
        self._behind: dict[int, Sent] = {}  # what is only on a former one, and was passed there
        self._tree: Tree = {"/": None}
        self._undo: list[tuple[int, Outcome | None]] = []  # outcomes that are not durable yet
        self._promised: dict[int, Line] = {}
        self._hooked: set[Hook] = set()
        """The post-import hooks that have succeeded."""
        self._durable = 0  # statuses below this sequence will never be taken back
        self.ledger = Ledger(instance="")
        self.outcomes: dict[int, Outcome] = {}
        self._reported: set[int] = set()
        """The sequences of what is on the log."""
        self.renewals = 0
        """How often another repository got the name."""
        self._former: list[Line] = []
        """What was promised by a repository that had the name before, and may still be on its way."""
        scene.reporters[name].append(self.reported)

    # Input.

    def ended(self, effect: Perform) -> None:
        """An effect of the importer has succeeded."""
        if isinstance(effect, RunHook):
            self._hooked.add(hook_of(effect.due))

    def begins(self, effect: Perform) -> None:
        """The importer has decided on an effect."""
        if isinstance(effect, ImportPackages):
            self._check_name(effect)

    def _check_commit(self, effect: ImportPackages) -> None:
        self._check_name(effect)

    def _check_name(self, effect: ImportPackages) -> None:
        """Check when an import begins, and again when it is committed."""
        me, tenants = (self.ledger.instance, self._settings().place), self._scene.tenants
        rival = tenants.rival(self._name, me, effect.permit, (tenants.now_ns() - EPOCH_NS) / 1e9)
        alone = rival is None or self._scene.unsettled
        self._demand(alone, "only the holder of a name imports", f"{effect.offsets}, {rival} has")

    def wrote(self, tree: dict[str, Node], ledger: bytes, durable: bool, effect: ImportPackages | None) -> None:
        """See ``Witness``."""
        step = Step(self.ledger, codec.decode(Ledger, ledger), effect)
        self.ledger = step.new
        if effect is not None:
            self._demand(step.old == effect.attempt, "an attempt is stored before it begins", f"{effect.offsets}")
            self._demand(not step.old.paused_by, "nothing is imported in a pause", f"{effect.offsets}")
            self._check_commit(effect)
            self._check_pause(step.old)
        self._count_tries(step)
        self._check_promises(step)
        self._check_hooks(step)
        before = dict(self._tree)
        self._advance(step)
        if effect is not None:
            self._check_content(step, before, tree)
        if durable:
            self._undo.clear()
            self._durable = self.ledger.next_sequence

    def set_back(self, ledger: bytes) -> None:
        """See ``Witness``."""
        while self._undo:
            offset, before = self._undo.pop()
            if before is None:
                del self.outcomes[offset]
            else:
                self.outcomes[offset] = before
        self.ledger = codec.decode(Ledger, ledger) if ledger else Ledger(instance="")
        self._promised = {at: line for at, line in self._promised.items() if at < self.ledger.next_sequence}

    def renewed(self, *, empty: bool) -> None:
        """Another repository has the name, without any history."""
        self.renewals += 1
        self._former += self._promised.values()
        self._durable, self._history, self.ledger = 0, len(self._scene.histories) - 1, Ledger(instance="")
        for known in (self._behind, self._promised, self.outcomes, self._excuses.tries, self._excuses.calls):
            known.clear()
        for seen_before in (self._hooked, self._reported):
            seen_before.clear()
        self._undo.clear()
        if empty:
            self._tree = {"/": None}

    def reported(self, line: Line) -> bool:
        """A status, or a result, is on the log; returns whether this subscriber wrote it."""
        if line.subscriber_instance != self.ledger.instance:
            return line in self._former
        self._demand(
            line.sequence < self._durable and self._promised.get(line.sequence) == line,
            "only what is stored is reported", f"{line}, promised {self._promised.get(line.sequence)}",
        )  # fmt: skip
        self._reported.add(line.sequence)
        return True

    # Checks of a transaction.

    @property
    def _packages(self) -> dict[int, Sent]:
        return self._behind | self._scene.histories[self._history].packages

    def _keep_up(self, step: Step) -> bool:
        """Switch to another log if the subscriber does; returns whether it starts over there."""
        histories, old, new = self._scene.histories, step.old, step.new
        newest = len(histories) - 1
        if self._history == newest:
            return False
        if new.log_id != old.log_id or new.offset < old.offset:
            self._history = newest
            self._behind.clear()
            self.outcomes.clear()
            self._undo.clear()
            self._excuses.tries.clear()
            return True
        exchanged = histories[newest]
        since = range(exchanged.cut, old.offset + 1)
        same = all(_record_id(self._packages, at) == _record_id(exchanged.packages, at) for at in since)
        if old.log_id == exchanged.log_id and (same or old.offset < self._scene.first()):
            # It has nothing that the older copy lacks, or what it has was appended again, or the copy has nothing left
            # to compare and is as good as trimmed; and it was restarted to read the copy.
            self._behind = {at: sent for at, sent in self._packages.items() if at <= old.offset}
            self._history = newest
            return False
        here, there = _record_id(self._packages, new.offset), _record_id(exchanged.packages, new.offset)
        noticed = not new.record_id or here == there or there != new.record_id.partition(" ")[0]
        self._demand(noticed, "an exchanged log is noticed", f"offset {old.offset} was of another one")
        return False

    def _advance(self, step: Step) -> None:
        old, new, lines = step.old, step.new, step.lines
        if self._keep_up(step):
            return
        self._demand(new.offset >= old.offset, "a position never goes back", f"from {old.offset} to {new.offset}")
        passed = {at for at in self._packages if old.offset < at <= new.offset}
        counts: Counter[Outcome] = Counter()
        for offset in sorted(passed | set(lines) | set(step.applied)):
            outcomes: list[Outcome] = [*lines.get(offset, [])] or [self._unreported(step, offset)]
            for outcome in outcomes:
                before = self.outcomes.get(offset)
                counts[outcome] += not (outcome is Status.REMOVED and before is Status.REMOVED_FAILED)
                self._judge(step, offset, before, outcome)
                self._undo.append((offset, before))
                self.outcomes[offset] = outcome
                if outcome is Status.IMPORTED or (outcome is Status.SUPERSEDED and before is None):
                    change(self._tree, self._packages[offset].act)
        moved = {
            Status.IMPORTED: new.imported - old.imported,
            Status.REMOVED: new.cleared - old.cleared,
            Status.SUPERSEDED: new.superseded - old.superseded,
            Status.SKIPPED: new.skipped - old.skipped,
        }
        self._demand(all(counts[one] == moved[one] for one in moved), "counters count", f"{counts} but {moved}")

    def _count_tries(self, step: Step) -> None:
        """Every attempt at a package, and call of its hook, is stored before it begins, and counts one."""
        old, new, excuses = step.old, step.new, self._excuses
        if new.attempts > (old.attempts if old.attempt_offset == new.attempt_offset else 0):
            excuses.tries[new.attempt_offset] += 1
        before = {each.offset: each.attempts for each in old.held}
        excuses.tries.update(each.offset for each in new.held if each.attempts > before.get(each.offset, each.attempts))
        called = {hook_of(each): each.attempts for each in old.hooks}
        excuses.calls.update(hook_of(each) for each in new.hooks if each.attempts > called.get(hook_of(each), 0))

    def _unreported(self, step: Step, offset: int) -> Outcome:
        """The outcome of a package without a status."""
        sent = self._packages[offset]
        if offset in step.applied:
            return Status.IMPORTED
        if not self.concerns(sent):
            return FOREIGN
        lost = step.new.offset < self._scene.first() or not step.old.positioned or step.new.log_id != step.old.log_id
        if offset < self._scene.first() and lost and step.effect is None:
            return GONE
        return Status.SUPERSEDED

    def _judge(self, step: Step, offset: int, before: Outcome | None, outcome: Outcome) -> None:
        where = f"offset {offset} ({self._packages[offset].act})"
        telling = self._settings().editable or before is Status.HELD
        if outcome in (Status.IMPORTED, Status.SUPERSEDED) and telling:
            self._demand(bool(step.lines.get(offset)), "an editable subscriber tells of everything", where)
        if outcome is Status.IMPORTED:
            self._demand(self.concerns(self._packages[offset]), "nothing is imported that is for others", where)
            self._demand(offset in step.applied, "what is reported as imported is", where)
            fresh = before in (None, Status.HELD, Status.REMOVED_FAILED)
            self._demand(fresh, "nothing is imported twice", f"{where}, which was {before}")
            self._check_overtaking(step, offset)
        elif outcome is Status.SUPERSEDED:
            later = any(other > offset for other in step.applied)
            self._demand(later, "nothing is left out without a successor", where)
        elif isinstance(outcome, Status):
            problem = self._excuses.missing(step.new, step.held, offset, before, outcome)
            self._demand(not problem, "nothing is skipped without a reason", f"{where}, {outcome.name}: {problem}")
        if offset in step.applied:
            self._demand(outcome is Status.IMPORTED, "what is imported is reported as such", f"{where} is {outcome}")

    def concerns(self, sent: Sent) -> bool:
        """Whether this subscriber has to process it."""
        return sent.concerns(self._name, self._settings().follows)

    def _check_content(self, step: Step, before: Tree, tree: dict[str, Node]) -> None:
        self._check_changes(step, before)
        real = seen(tree)
        self._demand(real == self._tree, "the content is what the log says", self._difference(real))

    def _check_overtaking(self, step: Step, offset: int) -> None:
        mine = self._packages[offset].act
        path = mine.path
        for held in step.new.held:
            overtaken = held.offset < offset and touch([path], [self._packages[held.offset].act.path])
            self._demand(not overtaken, "nothing overtakes what is held", f"offset {offset} did {held.offset}")
        for later, outcome in self.outcomes.items():
            act = self._packages[later].act
            undone = later > offset and outcome is Status.IMPORTED and act.kind is not Kind.INVALIDATE
            stale = undone and mine.kind is not Kind.INVALIDATE and touch([path], [act.path])
            self._demand(not stale, "nothing brings back what is out of date", f"offset {offset} does, after {later}")

    def _check_promises(self, step: Step) -> None:
        """No status is dropped before it is on the log, and none is changed."""
        lines: tuple[Line, ...] = (*step.new.outbox, *step.new.results)
        kept = {line.sequence: line for line in lines}
        promised: tuple[Line, ...] = (*step.old.outbox, *step.old.results)
        for line in promised:
            safe = line.sequence in kept or line.sequence in self._reported
            self._demand(safe, "a status is kept until it is on the log", f"{line}")
        for sequence, line in kept.items():
            self._demand(self._promised.setdefault(sequence, line) == line, "a status does not change", f"{line}")

    def _check_hooks(self, step: Step) -> None:
        """Each import requires a hook call, and only a call, or too many, settles that."""
        lines = (line for line in self._promised.values() if isinstance(line, PackageStatusMessage))
        failures = {hook_of(line) for line in lines if line.status is Status.HOOK_FAILED}
        for end in step.ends:
            problem = self._excuses.missing_of_hook(step.new, end, failures)
            self._demand(not problem, "a hook is not given up without a reason", f"{end}: {problem}")
        if not self._settings().hooks.after_import:
            return
        due = {hook_of(each) for each in step.new.hooks}
        for offset in step.applied:
            owed = offset in {at for at, _ in due} or self._packages[offset].act.kind is Kind.INVALIDATE
            self._demand(owed, "an import owes its hook", f"offset {offset}")
        ended = {hook_of(end) for end in step.ends}
        forgotten = {hook_of(each) for each in step.old.hooks} - due - ended - self._hooked
        self._demand(not forgotten, "a hook is due until it was called", f"{sorted(forgotten)}")

    def _check_changes(self, step: Step, before: Tree) -> None:
        """The hooks of an import receive, together, every path that it removes and every file that it writes."""
        owed = [due for due in step.new.hooks if due.offset in step.applied]
        if not self._settings().hooks.after_import or any(due.changed > len(due.written + due.removed) for due in owed):
            return
        removed = {path for due in owed for path in due.removed}
        written = {path for due in owed for path in due.written}
        gone = before.keys() - self._tree.keys()
        new = {path for path, content in self._tree.items() if content is not None and before.get(path) != content}
        self._demand(gone <= removed, "hooks receive what is removed", f"{step.applied}, not {sorted(gone - removed)}")
        self._demand(new <= written, "hooks receive what is written", f"{step.applied}, not {sorted(new - written)}")

    def _check_pause(self, ledger: Ledger) -> None:
        """Checked by the accepted commands alone; those of another log do not count.

        One that changes nothing is refused; one that was accepted is refused when it is on the log again.
        """
        if self._scene.exchanged:
            return
        paused = False
        accepted: set[str] = set()
        for offset, command in self._scene.commands[self._name]:
            mine = offset <= ledger.command_offset and command.subscriber_instance == ledger.instance
            changes = command.resume if paused else command.pause
            if mine and changes and command.command_id not in accepted:
                paused = not paused
                accepted.add(command.command_id)
        self._demand(not paused, "a pause holds until it is undone", f"at command offset {ledger.command_offset}")

    def _difference(self, real: Tree) -> str:
        shown = [
            (path, self._shown(real, path), self._shown(self._tree, path))
            for path in sorted(real.keys() | self._tree.keys())
        ]
        return "; ".join(f"{path} is {one}, not {other}" for path, one, other in shown if one != other)

    @staticmethod
    def _shown(tree: Tree, path: str) -> str:
        if path not in tree:
            return "missing"
        content = tree[path]
        return "a folder" if content is None else f"{content[:20]!r} of {len(content)} bytes"

    def _demand(self, right: bool, rule: str, story: str) -> None:
        self._scene.demand(right, rule, f"{self._name}: {story}")


def _record_id(packages: Mapping[int, Sent], offset: int) -> str:
    return packages[offset].record_id if offset in packages else ""
