"""Folds the topic of a class of entities into those in memory, and into snapshots if there is a store."""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from math import inf
from random import Random
from typing import NamedTuple

from callboard.actors.core.decision import Effect, Input, Moment, note
from callboard.actors.core.follower import (
    Delivered,
    Follower,
    OutOfRange,
    Positioned,
    Replaced,
    StartPolicy,
    from_first,
    from_offset,
)
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities.command_queue import TOGETHER_MAX, CommandQueue
from callboard.actors.entities.deciding import unencodable
from callboard.actors.entities.mark import Place
from callboard.actors.entities.processes.conductor import TAKEOVER_S, TROUBLES_MAX, Conductor
from callboard.actors.entities.processes.process import Process
from callboard.actors.entities.settings import EntitySettings
from callboard.actors.entities.shelf import SCAN_MANY, Active, Lost, Opened, Refused, Shelf
from callboard.messages.entities.commits import commit_in
from callboard.messages.entities.entity_mail import EntityState, FoldState
from callboard.messages.entities.entity_messages import EntityCommitMessage, FoldPlace
from callboard.messages.entities.sealing import sealed
from callboard.messages.reading import Problem, Unread
from callboard.messages.record import Record

READ_MAX = 2000
"""Records of one batch."""


class Batch(NamedTuple):
    """Commits that were read but not applied, the next offset, the effects that go on reading, and whether the commits
    are new rather than history.
    """

    commits: tuple[tuple[int, EntityCommitMessage], ...]
    following: int
    effects: tuple[Effect, ...]
    are_new: bool


class EntityFold:
    """See the module. ``Keeper`` owns it, and passes its inputs to ``handle``. If the log or the store went back, it
    begins again, and the commands that are being appended are decided again.
    """

    def __init__(self, settings: EntitySettings, rng: Random, commands: CommandQueue) -> None:
        self._settings, self._rng, self._commands = settings, rng, commands
        self._begun = 0
        self._begin()

    def _begin(self, mark: str = "") -> None:
        self._begun += 1
        self._follower = self._follow_from(from_first())
        self.shelf = Shelf(self._settings, self._rng, mark)
        self.table = self.shelf.table
        has_tasks = self._settings.runs and issubclass(self._settings.entity, Process)
        self.conductor = Conductor(self._settings.topic, self._rng) if has_tasks else None
        self._has_snapshot = False
        self._batch: Batch | None = None
        self._found = deque[str]()  # active processes that were not looked at yet
        self.next = 0
        """Everything before this offset is applied."""
        self.problem, self.code = "", ""
        """Why it is stopped."""

    def _follow_from(self, policy: StartPolicy) -> Follower:
        """A follower with an owner of its own: an answer to the one before it is none to this one."""
        return Follower(
            self._settings.topic, policy, self._rng, owner=str(self._begun), report=True, max_records=READ_MAX
        )

    @property
    def log_id(self) -> str:
        """The incarnation of the topic."""
        return self._follower.log_id

    @property
    def is_current(self) -> bool:
        """Whether everything that was on the topic is applied."""
        return self._batch is None and self._follower.caught_up and not self.problem

    @property
    def word(self) -> str:
        """What it does, as it is announced."""
        return "stopped" if self.problem else "live" if self._follower.caught_up else "reading"

    def start(self) -> Iterator[Effect]:
        """Begin to read the topic, once it exists."""
        if self._settings.is_stored:
            yield from self.shelf.open()
        else:
            yield from self._follower.start()

    def _again(self, *, clear: bool = False) -> Iterator[Effect]:
        """Begin again; with ``clear``, without what the store has."""
        self._commands.begin_again()
        self._begin(self.shelf.mark)
        yield from self.shelf.clear() if clear and self._settings.is_stored else self.start()

    def handle(self, message: Input) -> Iterator[Effect]:
        """Handle an answer of the store or the log, or a timer."""
        yield from self._stored(message)
        yield from self._follow(message)

    def _stored(self, message: Input) -> Iterator[Effect]:
        news, effects = self.shelf.handle(message)
        yield from effects
        match news:
            case Opened(place=place):
                self._has_snapshot, self.next = place is not None, place.next if place else 0
                policy = from_first() if place is None else from_offset(place.next, place.log_id)
                self._follower = self._follow_from(policy)
                yield from self._follower.start()
                if place is not None and self.conductor is not None:
                    yield from self.shelf.find_active()
            case Active(keys=keys):
                self._found += keys
                if len(keys) == SCAN_MANY:
                    yield from self.shelf.find_active(keys[-1])
            case Lost(is_damaged=is_damaged):
                what = "is damaged" if is_damaged else "went back"
                yield note("snapshots.lost", "warning", topic=self._settings.topic, what=what)
                yield from self._again(clear=is_damaged)
            case Refused(problem=problem):
                self._stop(problem, "snapshots")

    def _follow(self, message: Input) -> Iterator[Effect]:
        are_new = self._follower.caught_up
        news, effects = self._follower.handle(message)
        match news:
            case Delivered(records=records, next=following):
                commits = tuple((record.offset, each) for record in records if (each := self._read(record)))
                self._batch, effects = Batch(commits, following, effects, are_new), ()
                self.shelf.log_id = self._follower.log_id
            case Replaced(log_id=was):
                yield note("entities.replaced", "warning", topic=self._settings.topic, was=was)
                yield from self._again(clear=True)
                return
            case Positioned(bounds=bounds) if bounds.first > ORIGIN and not self._has_snapshot:
                self._stop_at(bounds.first)
            case OutOfRange(expected=expected, bounds=bounds) if bounds.first > max(ORIGIN, expected):
                self._stop_at(bounds.first)
            case OutOfRange():  # the topic is shorter than before
                yield from self._again(clear=True)
                return
        if not self.problem:
            yield from effects

    def _stop_at(self, first: int) -> None:
        self._stop(f"the first records of {self._settings.topic} were removed, up to {first - 1}", "gap")

    def _read(self, record: Record) -> EntityCommitMessage | None:
        if (own := self._commands.own.get(record.payload)) is not None:
            return own.commit
        commit = commit_in(record)
        if isinstance(commit, Unread):
            if commit.problem is Problem.TOO_NEW:
                self._stop(commit.detail, "schema_too_new")
            return None
        return commit

    def _stop(self, problem: str, code: str) -> None:
        if not self.problem:
            self.problem, self.code = problem, code

    def absorb(self, now: Moment) -> Iterator[Effect]:
        """Apply what was read, once its entities are in memory."""
        if self._batch is None:
            return
        commits, following, effects, are_new = self._batch
        if missing := self.shelf.missing(commit.key for _, commit in commits):
            yield from self.shelf.fetch(missing)
            return
        own = {its.commit.commit_id: its for its in self._commands.own.values()}
        wait_s = TAKEOVER_S if are_new else 0.0
        for offset, commit in commits:
            its = own.get(commit.commit_id)
            held = self.shelf.apply(commit, offset, its.decided.after if its and its.decided else None)
            if held is not None and self.conductor is not None:
                since_s = its.decided_s if its else -inf
                yield from self.conductor.see(commit.key, held, 0.0 if its else wait_s, now, since_s)
        self.next, self._batch = following, None
        yield from effects
        yield from self.shelf.save(Place(self._follower.log_id, self.next))
        self.shelf.evict(self._commands.keys)

    def look(self, now: Moment) -> Iterator[Effect]:
        """Tell the conductor of the active processes that the store has."""
        while self._found and self.conductor is not None:
            some = [self._found[place] for place in range(min(len(self._found), TOGETHER_MAX))]
            if missing := self.shelf.missing(some):
                yield from self.shelf.fetch(missing)
                return
            for key in some:
                yield from self.conductor.see(key, self.table.find(key), 0.0, now)
                self._found.popleft()
            self.shelf.evict(self._commands.keys)

    def save(self, *, now: bool = False) -> Iterator[Effect]:
        """Save what has changed, if it is time."""
        yield from self.shelf.save(Place(self._follower.log_id, self.next), now=now)

    def told(self, key: str) -> EntityState:
        """The state of an entity."""
        held = self.table.find(key)
        state, problem, code = None, held.problem, held.code
        if held.exists and not problem and (problem := unencodable(held.state)):  # of code before this one
            code = "state_unknown"
        elif held.exists and not problem:
            state = sealed(held.state)
        return EntityState(state=state, version=held.version, offset=self.next - 1, problem=problem, code=code)

    def state(self) -> FoldState:
        """How far it is."""
        conductor, unreadable = self.conductor, self.table.unreadable
        place = FoldPlace(topic=self._settings.topic, log_id=self._follower.log_id, next=self.next)
        troubles = [self.shelf.trouble] if self.shelf.trouble else []
        troubles += [f"{key}: {held.problem}" for key, held in islice(unreadable.items(), TROUBLES_MAX)]
        return FoldState(
            places=(place,), problem=self.problem, held=len(self.table.held), unreadable=len(unreadable),
            active=conductor.active if conductor else 0,
            troubles=tuple(troubles + (conductor.troubles if conductor else [])),
        )  # fmt: skip
