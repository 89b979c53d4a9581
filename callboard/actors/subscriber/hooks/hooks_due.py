"""The post-import hooks that are due: called one at a time beside the imports, retried after a failure, or given up."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from callboard.actors.core.decision import After, Done, Failed, Moment, note
from callboard.actors.subscriber.effects import RunHook
from callboard.actors.subscriber.gates.gate import Wait
from callboard.actors.subscriber.importing.failure_policy import died_too_often
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Change, Decided, LedgerState, Write
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, State, Status

TIMER = "hook"
"""Delay before the retry of a failed hook."""

DUE_MAX = 100
"""Imports wait while this many hooks are due: they are written with the ledger at each import, and a hook that fails
for every package should be noticed soon."""
DUE_CHARS_MAX = 1 << 20
"""Characters of their paths and metadata before imports wait. A single hook may have more: it fits a record."""
FAILED_MAX = 100
"""Hooks given up that can still be retried or dismissed; they are written with every import, too."""


def owe(ledger: Ledger, offset: int, message: PackageMessage, settings: SubscriberSettings) -> Ledger:
    """The ledger after an import, with the hook due."""
    if not settings.hooks.after_import or message.kind is Kind.INVALIDATE:
        return ledger
    due = HookDue(
        offset=offset,
        publisher=message.publisher,
        package_id=message.package_id,
        kind=message.kind,
        paths=message.paths,
        deep_paths=message.deep_paths,
        metadata=message.metadata,
    )
    return _with(ledger, due)


FIRST_MAX_S = 10.0
"""Longest delay of the first call after a start: the hook may have been fixed, and what waits for it waits
this long. A hook that ends its process each time does so no more often than this."""

HOPE_CALLS = 3
"""Failures of a hook that a caller of ``caught_up`` waits out: with the default delays this takes seconds; a hook that
fails more often may fail for long."""


class Room:
    """A gate that limits the number of due hooks, and keeps them from replacing each other."""

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | None:
        """Wait while there is no room for another due hook. A restored log may reuse the offset of a due one."""
        del now
        if any(due.offset == offset and due.package_id != message.package_id for due in ledger.hooks):
            return Wait(State.WAITING, f"the post-import hook of another package once at offset {offset} is due")
        if len(ledger.hooks) < DUE_MAX and sum(map(_chars_of, ledger.hooks)) <= DUE_CHARS_MAX:
            return None
        return Wait(State.WAITING, f"{len(ledger.hooks)} post-import hooks are due, the most allowed")


def failing(ledger: Ledger) -> HookDue | None:
    """The first due hook that has failed."""
    return next((due for due in ledger.hooks if due.last_error), None)


class HooksDue:
    """Decides which hook is called next. Each call is counted in the ledger before it begins.

    Hooks are called in the order of the log, but a failed one waits for its retry without holding up the others.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random, state: LedgerState) -> None:
        self._settings = settings
        self._rng = rng
        self._state = state
        self._counted: HookDue | None = None  # chosen, waiting until its count is stored
        self._due_s: dict[tuple[int, int], float] = {}  # by offset and calls so far
        self._called: set[int] = set()  # hooks with a finished call
        self.running: RunHook | None = None
        """The running call."""

    @property
    def hopeful(self) -> bool:
        """Whether a hook is due that has not failed often, or was not called since the start."""
        under_way = self._counted or (self.running.due if self.running else None)
        if under_way is not None and under_way.attempts <= HOPE_CALLS:
            return True
        return any(due.attempts < HOPE_CALLS or due.offset not in self._called for due in self._state.ledger.hooks)

    def choose(self, now: Moment) -> Iterator[Decided]:
        """Count the next call, while the state is free. A call during which the importer died is delayed like a
        failed one.
        """
        hooks = self._state.ledger.hooks
        self._called &= {due.offset for due in hooks}
        if self.running or self._counted or not hooks:
            return
        self._due_s = {_key(due): self._due_s.get(_key(due), self._first_s(due, now)) for due in hooks}
        ripe = next((due for due in hooks if self._due_s[_key(due)] <= now.mono_s), None)
        if ripe is None:
            yield After(TIMER, min(self._due_s.values()) - now.mono_s)
        elif died_too_often(ripe.attempts, self._settings.hooks.max_retries):
            reason = ripe.last_error or f"the process died in call {ripe.attempts} of the post-import hook"
            yield Write(given_up(self._state.ledger, ripe.offset, reason, now), urgent=True)
            yield note("hook.given_up", "error", offset=ripe.offset, reason=reason)
        else:
            self._counted = replace(ripe, attempts=ripe.attempts + 1)
            yield Write(_changed(self._state.ledger, self._counted))
            yield self._state.save(durable=False)

    def start(self) -> Iterator[Decided]:
        """Begin the counted call, once its count is stored."""
        counted, stored = self._counted, self._state.stored
        if counted is None or stored is None or self._state.busy:
            return
        self._counted = None
        if counted in stored.hooks:
            self.running = RunHook(counted)
            yield self.running

    def ended(self, outcome: Done | Failed, now: Moment) -> Iterator[Decided]:
        """The call has ended."""
        assert self.running is not None
        due, self.running = self.running.due, None
        self._called.add(due.offset)
        if isinstance(outcome, Done):
            yield Change(lambda ledger: succeeded(ledger, due, now.wall_ns), urgent=due.told)
            return
        reason = ledger_changes.text(outcome.error)
        if 0 <= self._settings.hooks.max_retries < due.attempts:
            yield Change(lambda ledger: given_up(ledger, due.offset, reason, now), urgent=True)
            yield note("hook.given_up", "error", offset=due.offset, reason=reason)
            return
        failed = replace(due, last_error=reason)
        yield Change(lambda ledger: _changed(ledger, failed))
        delay_s = self._settings.retry.delay_s(due.attempts, self._rng)
        self._due_s[_key(due)] = now.mono_s + delay_s
        yield note("hook.failed", "warning", offset=due.offset, attempt=due.attempts, retry_in_s=delay_s, reason=reason)

    def _first_s(self, due: HookDue, now: Moment) -> float:
        delay_s = self._settings.retry.delay_s(due.attempts, self._rng) if due.attempts else 0.0
        return now.mono_s + min(delay_s, FIRST_MAX_S)


def retried(ledger: Ledger, offset: int) -> Ledger | None:
    """Call the hook of this package again at once, with a fresh count of attempts; None if none is due or was
    given up.
    """
    due = next((due for due in (*ledger.hooks, *ledger.failed_hooks) if due.offset == offset), None)
    return _with(_without_failure(ledger, offset), replace(due, attempts=0)) if due is not None else None


def dismissed(ledger: Ledger, offset: int, reason: str, now_ns: int) -> Ledger | None:
    """Stop calling a hook, or remove it from the error queue if it was given up, and change nothing else; None if there
    is none.
    """
    due = next((due for due in (*ledger.hooks, *ledger.failed_hooks) if due.offset == offset), None)
    if due is None:
        return None
    ledger = replace(_without_failure(ledger, offset), hooks=_others(ledger, offset))
    return ledger_changes.reported(ledger, due, Status.HOOK_SETTLED, reason, due.attempts, now_ns)


def succeeded(ledger: Ledger, due: HookDue, now_ns: int) -> Ledger:
    """The hook is no longer due, and leaves the error queue if it is in one."""
    ledger = replace(ledger, hooks=_others(ledger, due.offset))
    if not due.told:
        return ledger
    return ledger_changes.reported(ledger, due, Status.HOOK_SETTLED, "its hook succeeded", due.attempts, now_ns)


def given_up(ledger: Ledger, offset: int, reason: str, now: Moment) -> Ledger:
    """The hook is not called again, and this is reported: the content is imported, but its hook failed."""
    due = next((due for due in ledger.hooks if due.offset == offset), None)
    if due is None:
        return ledger
    failed = replace(due, told=True, last_error=reason)
    others = (*ledger.failed_hooks, failed)[-FAILED_MAX:]
    while len(others) > 1 and sum(map(_chars_of, others)) > DUE_CHARS_MAX:
        others = others[1:]
    ledger = replace(ledger, hooks=_others(ledger, offset), failed_hooks=others)
    return ledger_changes.reported(ledger, due, Status.HOOK_FAILED, reason, due.attempts, now.wall_ns)


def _without_failure(ledger: Ledger, offset: int) -> Ledger:
    return replace(ledger, failed_hooks=tuple(due for due in ledger.failed_hooks if due.offset != offset))


def _with(ledger: Ledger, due: HookDue) -> Ledger:
    """The ledger with this hook due, in the order of the log."""
    return replace(ledger, hooks=tuple(sorted((*_others(ledger, due.offset), due), key=lambda each: each.offset)))


def _chars_of(due: HookDue) -> int:
    lists = (due.paths, due.deep_paths, due.written, due.removed, *due.metadata)
    return sum(len(text) + 1 for texts in lists for text in texts)


def _key(due: HookDue) -> tuple[int, int]:
    return due.offset, due.attempts


def _changed(ledger: Ledger, due: HookDue) -> Ledger:
    return replace(ledger, hooks=tuple(due if other.offset == due.offset else other for other in ledger.hooks))


def _others(ledger: Ledger, offset: int) -> tuple[HookDue, ...]:
    return tuple(due for due in ledger.hooks if due.offset != offset)
