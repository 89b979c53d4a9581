"""Keepers of the same entities, on one topic, whose appends fail, land late or land twice, and which are killed: in any
order, each command counts once, what was answered is on the log, and all agree.
"""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from callboard.actors.core.decision import Done, Effect, Failed, Input, Moment, Origin, Reply, Started, Tick
from callboard.actors.core.effects import Append, EnsureTopic, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.entities.keeper import Keeper
from callboard.actors.entities.settings import EntitySettings
from callboard.errors import LogUnavailable
from callboard.messages.entities.entity_mail import (
    EntityCommand,
    EntityCommands,
    EntityOutcome,
    EntityOutcomes,
    EntityQuery,
    EntityState,
)
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened, sealed
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord
from tests.unit.actors.entities.bank import Account, Close, Move, Moved
from tests.unit.actors.entities.planted_bugs import BUGS

KEYS = ("a", "b")
KEEPERS = 3
COMMANDS = 40


class Story:
    """What may happen, in an order that the seed decides."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.topic: list[NewRecord] = []
        self.late: list[tuple[NewRecord, ...]] = []
        self.sent: dict[str, EntityCommand] = {}
        self.answers: dict[str, list[EntityOutcome]] = {}
        self.lost: set[str] = set()
        self.log_id, self.copies = "log", 0
        self.calm = False
        self.now_s = 0.0
        self.numbers = iter(range(1, 10**9))
        self.keepers = [self.begin() for _ in range(KEEPERS)]

    def begin(self) -> "Running":
        return Running(self, Keeper(EntitySettings(Account, "t", "i"), Random(self.rng.random())))

    def send(self) -> None:
        known = list(self.sent)
        if known and self.rng.random() < 0.2:
            its = self.sent[self.rng.choice(known)]
        else:
            what = Close() if self.rng.random() < 0.1 else Move(cents=self.rng.randint(-5, 5))
            its = EntityCommand(key=self.rng.choice(KEYS), command_id=f"c{len(known)}", command=sealed(what))
            self.sent[its.command_id] = its
        self.rng.choice(self.keepers).ask((its,))

    def step(self) -> None:
        """One thing happens."""
        dice = self.rng.random()
        if dice < 0.03 and not self.calm:
            place = self.rng.randrange(KEEPERS)
            lost, self.keepers[place] = self.keepers[place], self.begin()
            for commands in lost.asked.values():  # the runtime asks again
                self.keepers[place].ask(commands)
        elif dice < 0.033 and not self.calm:
            self.restore()
        elif self.late and dice < 0.1:
            self.topic += self.late.pop()
        else:
            self.rng.choice(self.keepers).step()

    def restore(self) -> None:
        """An older copy takes the place of the log. What was answered is forgotten if it is not on the copy."""
        self.copies += 1
        self.log_id = f"copy {self.copies}"
        del self.topic[self.rng.randint(0, len(self.topic)) :]
        self.late.clear()
        for command_id, outcomes in list(self.answers.items()):
            kept = [each for each in outcomes if 0 <= each.offset <= len(self.topic)]
            if not kept:
                del self.answers[command_id]
                self.lost.add(command_id)
            else:
                self.answers[command_id] = kept

    def hear(self, command_id: str, outcome: EntityOutcome, log_id: str) -> None:
        """An answer; one of a keeper that has not noticed the copy yet is as one from before."""
        if log_id == self.log_id:
            self.answers.setdefault(command_id, []).append(outcome)
        else:
            self.lost.add(command_id)

    def play(self) -> None:
        for _ in range(COMMANDS):
            self.send()
            for _ in range(self.rng.randrange(12)):
                self.step()
        self.calm = True
        for _ in range(20_000):
            if not self.late and not any(each.asked for each in self.keepers):
                break
            self.step()
        for _ in range(200):
            self.step()


class Running:
    """A keeper, and its effects that have not happened yet."""

    def __init__(self, story: Story, keeper: Keeper) -> None:
        self.story, self.keeper = story, keeper
        self.pending: list[Effect] = []
        self.timers: set[str] = set()
        self.asked: dict[Origin, tuple[EntityCommand, ...]] = {}
        self.told: EntityState | None = None
        self.feed(Started())

    def ask(self, commands: tuple[EntityCommand, ...]) -> None:
        origin = Origin("gateway", next(self.story.numbers))
        self.asked[origin] = commands
        self.feed(EntityCommands(commands=commands), origin)

    def state(self, key: str) -> EntityState:
        self.feed(EntityQuery(key=key), Origin("gateway"))
        assert self.told is not None
        return self.told

    def feed(self, message: Input, origin: Origin | None = None) -> None:
        now = Moment(10**18 + int(self.story.now_s * 1e9), self.story.now_s)
        for effect in self.keeper.receive(message, origin or Origin(""), now):
            match effect:
                case Reply(to, EntityOutcomes(outcomes=outcomes)):
                    for command, outcome in zip(self.asked.pop(to), outcomes, strict=True):
                        self.story.hear(command.command_id, outcome, self.keeper._fold.log_id)
                case Reply(_, EntityState() as state):
                    self.told = state
                case Append() | ReadLog() | FindBounds() | EnsureTopic():
                    self.pending.append(effect)
                case _ if hasattr(effect, "key"):
                    self.timers.add(effect.key)

    def step(self) -> None:
        """One of its effects happens, or a timer."""
        self.story.now_s += 0.01
        if self.timers and self.story.rng.random() < 0.3:
            self.feed(Tick(self.timers.pop()))
        if not self.pending:
            return
        effect = self.pending.pop(self.story.rng.randrange(len(self.pending)))
        fails = not self.story.calm and self.story.rng.random() < 0.15
        match effect:
            case EnsureTopic():
                self.feed(Done(effect, None))
            case FindBounds():
                self.feed(Done(effect, TopicBounds(self.story.log_id, 1, len(self.story.topic) + 1)))
            case ReadLog(start=start) if not fails and start <= len(self.story.topic) + 1:
                found = self.story.topic[start - 1 : start - 1 + self.story.rng.randint(1, 5)]
                records = tuple(each.at(start + place, 1) for place, each in enumerate(found))
                self.feed(Done(effect, LogRead(self.story.log_id, records, start + len(records))))
            case Append(records=records):
                self.append(effect, records, fails=fails)
            case ReadLog():
                self.feed(Failed(effect, LogUnavailable("gone")))

    def append(self, effect: Append, records: tuple[NewRecord, ...], *, fails: bool) -> None:
        topic = self.story.topic
        if fails:
            if self.story.rng.random() < 0.5:
                self.story.late.append(records)
            self.feed(Failed(effect, LogUnavailable("gone")))
            return
        topic += records
        self.feed(Done(effect, tuple(range(len(topic) - len(records) + 1, len(topic) + 1))))


def plainly(topic: list[NewRecord]) -> tuple[dict[str, list[int]], dict[str, tuple[int, int]]]:
    """The balance of each account at each version, and version and offset of each command, by the rule alone."""
    accounts: dict[str, list[int]] = {key: [0] for key in KEYS}
    last: dict[str, int] = {}
    made: dict[str, tuple[int, int]] = {}
    for offset, record in enumerate(topic, 1):
        commit = open_record(record.at(offset, 1), EntityCommitMessage)
        balances = accounts[commit.key]
        if commit.previous != last.get(commit.key, 0):
            continue
        assert commit.command_id not in made, "a command counts once"
        moved = sum(each.cents for each in map(opened, commit.events) if isinstance(each, Moved))
        balances.append(0 if commit.ended else balances[-1] + moved)
        assert balances[-1] >= 0, "a decision was made on a state that was not there"
        last[commit.key] = commit.commit_id
        made[commit.command_id] = len(balances) - 1, offset
    return accounts, made


def judge(story: Story) -> None:
    """Raises ``AssertionError`` if anything is wrong at the end."""
    accounts, made = plainly(story.topic)
    assert story.answers.keys() | story.lost >= story.sent.keys(), "every command is answered"
    for command_id, outcomes in story.answers.items():
        for outcome in outcomes:
            if outcome.offset >= 0:
                assert (outcome.version, outcome.offset) == made.get(command_id), "what was answered is on the log"
            elif outcome.code == "overdrawn" and not story.copies:
                command = story.sent[command_id]
                balance, move = accounts[command.key][outcome.version], opened(command.command)
                assert isinstance(move, Move)
                assert balance + move.cents < 0, "it was refused on a state that was there"
            else:
                assert outcome.code in ("", "unknown", "overtaken", "overdrawn")
    for command_id in made:
        told = story.answers.get(command_id, [])
        assert command_id in story.lost or any(outcome.offset >= 0 for outcome in told), "what counts is answered"
    for keeper in story.keepers:
        for key in KEYS:
            state = keeper.state(key)
            assert state.version == len(accounts[key]) - 1
            if state.state is not None:
                assert opened(state.state) == Account(cents=accounts[key][-1])


def told(seed: int) -> Story:
    story = Story(seed)
    story.play()
    return story


@pytest.mark.parametrize("seed", range(150))
def test_each_command_counts_once_and_all_keepers_agree(seed: int) -> None:
    judge(told(seed))


def broken(seeds: int) -> Iterator[int]:
    """The first seeds that are judged wrong."""
    for seed in range(seeds):
        try:
            judge(told(seed))
        except AssertionError:
            yield seed


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert next(broken(150), None) is not None
