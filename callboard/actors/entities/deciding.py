"""Carries out commands on copies of entities, and gathers what they are to commit."""

from collections.abc import Callable
from dataclasses import dataclass

from callboard.actors.entities.entity import Deleted, Facts
from callboard.actors.entities.held import FAULTS, WITHIN, Held, Made
from callboard.errors import CommandRefused
from callboard.messages.bounds import is_id
from callboard.messages.entities.entity_mail import EntityCommand, EntityOutcome
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened, sealed
from callboard.messages.event import Event, replaced

FORGOTTEN = "forgotten"
"""The code of a command that may have been carried out before."""

OVERTAKEN = "overtaken"
"""The code of a command that was decided again and again, as others committed first."""

EVENTS_MAX = 1000
"""Events of one command: they are one record."""

REFUSAL_CHARS_MAX = 1000
"""Characters of the reason of a refusal."""

COMMIT_BYTES_MAX = 900_000
"""Bytes of these: every log accepts records of 1 MB."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a command leads to: its outcome, which holds once the ``commit`` counts, if there is one, and the commit
    that it is ``based_on``, which was only tried before. ``after`` is the entity with the commit. ``failed``: the
    service's code did.
    """

    outcome: EntityOutcome
    commit: EntityCommitMessage | None = None
    based_on: EntityCommitMessage | None = None
    failed: bool = False
    after: Held | None = None


class Trial:
    """Entities as they will be when the commits so far are on the log, if nobody else commits to them before."""

    def __init__(self, find: Callable[[str], Held], offset: int, new_id: Callable[[], int]) -> None:
        self._find, self._offset, self._new_id = find, offset, new_id
        self._tried: dict[str, tuple[Held, EntityCommitMessage]] = {}
        self.nbytes = 0
        """The size of all commits so far."""

    def decide(self, its: EntityCommand, now_ns: int) -> Decided:
        """Carry out a command."""
        held, based_on = self._tried.get(its.key) or (self._find(its.key), None)
        known = self._find(its.key)
        made = held.made.get(its.command_id) or known.known(its.command_id, self._offset)
        if made is not None:
            return Decided(repeated(made), based_on=based_on)
        read = max(self._offset, known.as_of)
        if its.searched >= 0 and len(known.made) < known.version and read - its.searched > WITHIN:
            why = f"{its.key!r} has forgotten commands of long ago, and this may be one of them"
            return Decided(EntityOutcome(problem=why, code=FORGOTTEN), based_on=based_on)
        if held.problem:
            why = f"the state of {its.key!r} is not known: {held.problem}"
            return Decided(EntityOutcome(problem=why, code=held.code), based_on=based_on)
        try:
            events = _events(held, its, now_ns)
            commit = self._commit(its, held, events)
        except CommandRefused as error:
            why = str(error)[:REFUSAL_CHARS_MAX] or "the entity refused it and gave no reason"
            outcome = EntityOutcome(version=held.version, problem=why, code=str(error.code), refused=True)
            if not is_id(outcome.code):  # it could not be read again
                why = f"{type(held.state).__name__}.decide refused it with the code {outcome.code!r:.60}; use a word"
                outcome = EntityOutcome(version=held.version, problem=why, code="crashed")
            elif its.is_final:
                commit = replaced(self._commit(its, held, ()), reason=why, code=outcome.code)
                return self._try(held, commit, (), based_on, is_final=True)
        except FAULTS as error:
            why = f"{type(held.state).__name__}.decide failed: {type(error).__name__}: {error}"
            outcome = EntityOutcome(version=held.version, problem=why, code="crashed")
        else:
            return self._try(held, commit, events, based_on, is_final=its.is_final)
        return Decided(outcome, based_on=based_on, failed=not outcome.refused)

    def _try(
        self, held: Held, commit: EntityCommitMessage, events: tuple[Event, ...],
        based_on: EntityCommitMessage | None, *, is_final: bool,
    ) -> Decided:  # fmt: skip
        if not events and not is_final:
            return Decided(EntityOutcome(version=held.version), based_on=based_on)
        if (nbytes := sum(len(each.payload) for each in commit.events)) > COMMIT_BYTES_MAX:
            why = f"its events have {nbytes} bytes, and the limit is {COMMIT_BYTES_MAX}; keep large content elsewhere"
            return Decided(EntityOutcome(version=held.version, problem=why, code="too_large"), based_on=based_on)
        after = Held(held.state, held.exists, held.version, held.last, dict(held.made) if based_on else {})
        after.apply(commit, _told(events), -1)
        if problem := after.problem or unencodable(after.state):  # it could never be read again, or never be told
            outcome = EntityOutcome(version=held.version, problem=problem, code="crashed")
            return Decided(outcome, based_on=based_on, failed=True)
        self._tried[commit.key] = after, commit
        self.nbytes += nbytes
        outcome = EntityOutcome(
            version=after.version, events=commit.events, problem=commit.reason, code=commit.code,
            refused=bool(commit.reason),
        )  # fmt: skip
        return Decided(outcome, commit, after=after)

    def _commit(self, its: EntityCommand, held: Held, events: tuple[Event, ...]) -> EntityCommitMessage:
        told = _told(events)
        return EntityCommitMessage(
            key=its.key, commit_id=self._new_id(), previous=held.last, version=held.version,
            command_id=its.command_id, events=tuple(map(sealed, told)), ended=len(told) < len(events),
        )  # fmt: skip


def repeated(made: Made) -> EntityOutcome:
    """The outcome of a command that is known."""
    return EntityOutcome(
        version=made.version, offset=made.offset, repeated=True, problem=made.refusal, code=made.code,
        refused=bool(made.refusal),
    )  # fmt: skip


def _told(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Without ``Deleted`` at the end."""
    return events[:-1] if events and isinstance(events[-1], Deleted) else events


def unencodable(state: Event) -> str:
    """Why this state cannot be told; nothing if it can."""
    try:
        sealed(state)
    except (TypeError, ValueError) as error:
        return f"{type(state).__name__}.evolve returned a state that cannot be encoded: {error}"
    return ""


def _events(held: Held, its: EntityCommand, now_ns: int) -> tuple[Event, ...]:
    """What the entity decides. Raises what it raises, and ``TypeError`` if what it returns are no events."""
    if its.version not in {-1, held.version}:
        raise CommandRefused(f"{its.key!r} has version {held.version}, not {its.version}", code="conflict")
    if its.command is None:
        return tuple(map(opened, its.events))
    events: object = held.state.decide(opened(its.command), Facts(its.key, held.exists, held.version, now_ns))
    if not isinstance(events, tuple | list):
        raise TypeError(f"it returned {events!r:.80}; return a tuple of events, () if nothing is to change")
    for place, each in enumerate(events):
        if not isinstance(each, Event):
            raise TypeError(f"it returned {each!r:.80} among its events")
        if isinstance(each, Deleted) and place + 1 < len(events):
            raise TypeError("Deleted is not the last of its events")
    if len(events) > EVENTS_MAX:
        raise TypeError(f"it returned {len(events)} events, and the limit is {EVENTS_MAX}")
    return tuple(events)
