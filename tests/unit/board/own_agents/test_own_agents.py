"""Agents that a service wrote, on the board's event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

import callboard.sync
from callboard import Callboard
from callboard.actors import (
    ActorSpec,
    Agent,
    AgentSpec,
    Append,
    Delivered,
    Done,
    Effect,
    Event,
    Failed,
    Follower,
    Input,
    Moment,
    NewRecord,
    Origin,
    PeerUp,
    Perform,
    Question,
    ReadLog,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    event,
    event_of,
    from_first,
    record_of,
)
from callboard.actors.runtime import Limits
from callboard.actors.runtime.embedded import embedded
from callboard.errors import AgentFailed, CallboardError, ConfigError, NotAnswered, RequestRefused
from tests.refused import refused

PATIENCE_S = 30.0
TOPIC = "games.score"


@event("games.said", version=1)
class Said(Event):
    text: str
    number: int


@event("games.word", version=1)
class Word(Question[Said]):
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Look(Perform):
    where: str


@dataclass(frozen=True, slots=True)
class Forgotten(Perform):
    pass


class NotThere(CallboardError):
    pass


async def look(effect: Look) -> str:
    if effect.where == "nowhere":
        raise NotThere("there is nothing; look elsewhere")
    if effect.where == "bug":
        raise KeyError("bug")
    return effect.where.upper()


def answer(text: object, number: int = 0) -> Said:
    return Said(text=str(text), number=number)


class Ping:
    """Plays with pong; does all sorts of things when it is asked."""

    def __init__(self, settings: int, rng: Random) -> None:
        self._until, self._count = settings, 0
        self._asked: dict[Any, Origin] = {}

    def receive(self, message: Input, origin: Origin, now: Moment) -> Any:
        match message:
            case PeerUp("pong"):
                return [Send("pong", answer("ping", 1))]
            case Said(text="pong", number=number) if number < self._until:
                return [Send("pong", answer("ping", number + 1))]
            case Said(number=number):
                self._count = number
                return [Reply(each, answer("won", number)) for what, each in self._asked.items() if what == "won"]
            case Word(text="won"):
                self._asked["won"] = origin
                return [Reply(origin, answer("won", self._count))] if self._count else []
            case Word(text="look") | Word(text="elsewhere") | Word(text="forget"):
                effect = self._effect(message)
                self._asked[effect] = origin
                return [effect]
            case Done(effect, result):
                return [Reply(self._asked.pop(effect), answer(result))]
            case Failed(effect, error):
                return [Reply(self._asked.pop(effect), answer(f"{error.code}: {error}"))]
            case Word(text=text):
                return WRONG[text](origin)
            case Stopping():
                return [Stopped()]
        return []

    def _effect(self, word: Word) -> Perform:
        return {
            "look": Look({0: "here", 1: "nowhere", 2: "bug"}[word.number]),
            "elsewhere": Append("games.scores", (NewRecord(payload=b"1"),)),
            "forget": Forgotten(),
        }[word.text]


def crash(origin: Origin) -> Any:
    raise RuntimeError("crashed")


WRONG: dict[str, Callable[[Origin], Any]] = {
    "crash": crash,
    "none": lambda origin: None,
    "text": lambda origin: ["hello"],
    "one": lambda origin: Reply(origin, answer("one")),
    "typo": lambda origin: [Send("pogn", answer("ping"))],
    "dict": lambda origin: [Send("pong", {"ping": 1})],  # type: ignore[arg-type]
    "nobody": lambda origin: [Reply(Origin(""), answer("x"))],
    "answer": lambda origin: [Reply(origin, Word(text="x", number=0))],
}


class Pong:
    def __init__(self, settings: None, rng: Random) -> None:
        pass

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Said(text="ping", number=number):
                return [Reply(origin, answer("pong", number))]
            case Stopping():
                return [Stopped()]
        return []


class Score:
    """The sum of a topic; adds to it when it is told a number, and answers when that is on the log."""

    def __init__(self, settings: None, rng: Random) -> None:
        self._sum = 0
        self._follower = Follower(TOPIC, from_first(), rng)
        self._asked: dict[Append, Origin] = {}
        self._waiting: list[tuple[Origin, int]] = []

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        news, reading = self._follower.handle(message)
        if isinstance(news, Delivered):
            for record in news.records:
                said = event_of(record)
                assert isinstance(said, Said)
                self._sum += said.number
            yield from self._answers()
        match message:
            case Started():
                yield from self._follower.start()
            case Word(text="sum", number=at_least):
                self._waiting.append((origin, at_least))
                yield from self._answers()
            case Word(text=text, number=number):
                said = answer(text, number)
                record = record_of(said, record_id=text, time_ns=now.wall_ns, producer="score", key=text)
                append = Append(TOPIC, (record,))
                self._asked[append] = origin
                yield append
            case Done(Append() as append, offsets):
                yield Reply(self._asked.pop(append), answer("offset", offsets[0]))
            case Stopping():
                yield Stopped()
        yield from reading

    def _answers(self) -> Iterable[Effect]:
        ready = [each for each in self._waiting if self._sum >= each[1]]
        self._waiting = [each for each in self._waiting if each not in ready]
        return [Reply(origin, answer("sum", self._sum)) for origin, _ in ready]


def game(until: int = 10, **more: Any) -> AgentSpec:
    return AgentSpec("game", (ActorSpec("ping", Ping, until), ActorSpec("pong", Pong, None)), **more)


SCORE = AgentSpec("score", (ActorSpec("score", Score, None),), topics=(TOPIC,))


def play(folder: Path, scenario: Callable[[Callboard], Awaitable[None]]) -> None:
    async def on_board() -> None:
        async with Callboard("sqlite:///./board", base=folder) as board:
            await scenario(board)

    asyncio.run(asyncio.wait_for(on_board(), PATIENCE_S))


def on_agent(folder: Path, spec: AgentSpec, scenario: Callable[[Agent], Awaitable[None]]) -> None:
    async def on_board(board: Callboard) -> None:
        await scenario(await board.start(spec))

    play(folder, on_board)


async def told(agent: Agent, role: str, text: str, number: int = 0) -> Said:
    return await agent.ask(role, Word(text=text, number=number), PATIENCE_S)


def test_two_actors_play_until_one_has_won(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        assert (await told(agent, "ping", "won")).number == 1000

    on_agent(tmp_path, game(1000), scenario)


def test_the_fold_of_a_topic_survives_kills_and_a_repeated_question_counts_once(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        agent = await board.start(SCORE)
        for number in range(1, 11):
            first = await told(agent, "score", f"n{number}", number)
            assert await told(agent, "score", f"n{number}", number) == first
            if number % 3 == 0:
                await agent.kill("score")
        assert (await told(agent, "score", "sum", 55)).number == 55
        assert agent.actors()[0].epoch == 4
        assert len(await board.log.read(TOPIC, 1)) == 10

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("crash", "RuntimeError: crashed"),
        ("none", "'NoneType' object is not iterable"),
        ("text", "receive returned 'hello', which is no effect"),
        ("one", "'Reply' object is not iterable"),
        ("typo", "mail to 'pogn', but the roles are gateway, ping, pong"),
        ("dict", "mail to pong is {'ping': 1}, which is no Event"),
        ("nobody", "mail to '', but the roles are"),
        ("forget", "no function carries out Forgotten; add one to the agent: effects={Forgotten: ...}"),
    ],
)
def test_a_bug_at_a_question_is_told_to_the_caller_and_the_agent_goes_on(tmp_path: Path, text: str, words: str) -> None:
    async def scenario(agent: Agent) -> None:
        with refused("crashed") as raised:
            await told(agent, "ping", text)
        assert words in str(raised.value)
        assert (await told(agent, "ping", "won")).number == 10

    on_agent(tmp_path, game(), scenario)


def test_an_answer_of_the_wrong_type_is_no_answer(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        with pytest.raises(TypeError, match="Word was answered with Word, not Said"):
            await told(agent, "ping", "answer")

    on_agent(tmp_path, game(), scenario)


def test_a_wrong_question_is_refused_at_once(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        right = Word(text="won", number=0)
        with refused("unknown_name"):
            await agent.ask("pnig", right, 1)
        with refused("unknown_name"):
            await agent.kill("pnig")
        for question, timeout_s in [(answer("x"), 1), ("won", 1), (right, 0), (right, "1"), (right, float("nan"))]:
            with refused("invalid"):
                await agent.ask("ping", question, timeout_s)  # type: ignore[arg-type]

    on_agent(tmp_path, game(), scenario)


def test_a_function_carries_out_an_effect_and_its_errors_come_back(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        assert (await told(agent, "ping", "look")).text == "HERE"
        assert (await told(agent, "ping", "look", 1)).text == "not_there: there is nothing; look elsewhere"
        with refused("crashed") as raised:
            await told(agent, "ping", "look", 2)
        assert "KeyError: 'bug'" in str(raised.value)

    on_agent(tmp_path, game(effects={Look: look}), scenario)


def test_an_append_to_a_topic_that_the_agent_does_not_have_fails(tmp_path: Path) -> None:
    async def scenario(agent: Agent) -> None:
        said = await told(agent, "ping", "elsewhere")
        assert said.text == "unknown_name: topic 'games.scores' is not the agent's; its topics: games.score; add it"

    on_agent(tmp_path, game(topics=(TOPIC,)), scenario)


class Reader:
    """Reads the board's own packages, whose topic is not the agent's."""

    def __init__(self, settings: None, rng: Random) -> None:
        self._asked = Origin("")

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Word():
                self._asked = origin
                return [ReadLog("callboard.package", 1)]
            case Done(ReadLog(), result):
                return [Reply(self._asked, answer("read", len(result.records)))]
            case Stopping():
                return [Stopped()]
        return []


def test_every_topic_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("a")

    async def scenario(board: Callboard) -> None:
        await board.publisher().publish("./site")
        agent = await board.start(AgentSpec("reader", (ActorSpec("reader", Reader, None),)))
        assert (await told(agent, "reader", "read")).number == 1

    play(tmp_path, scenario)


class Lost:
    """Cannot even start."""

    def __init__(self, settings: None, rng: Random) -> None:
        pass

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        raise RuntimeError("lost")


def test_an_agent_whose_actor_keeps_crashing_fails_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "Limits", lambda: Limits(backoff_s=(0.0,), max_restarts=2))

    async def scenario(agent: Agent) -> None:
        with pytest.raises(AgentFailed, match=r"'lost' failed more than 2 times .* RuntimeError: lost"):
            await told(agent, "lost", "x")
        with pytest.raises(AgentFailed):
            await agent.ended()
        assert agent.has_ended

    on_agent(tmp_path, AgentSpec("lost", (ActorSpec("lost", Lost, None),)), scenario)


def test_closing_the_board_stops_the_agent(tmp_path: Path) -> None:
    async def scenario() -> None:
        board = Callboard("memory:", base=tmp_path)
        with pytest.raises(ConfigError, match="not open"):
            await board.start(game())
        async with board:
            agent = await board.start(game())
            await told(agent, "ping", "won")
        await agent.ended()
        with pytest.raises(NotAnswered, match="was stopped"):
            await told(agent, "ping", "won")

    asyncio.run(scenario())


def test_an_agent_is_stopped_before_its_board(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        agent = await board.start(game())
        await agent.stop(PATIENCE_S)
        assert agent.has_ended
        assert agent.actors() == ()
        assert (await told(await board.start(game()), "ping", "won")).number == 10

    play(tmp_path, scenario)


def test_an_agent_can_be_used_without_an_event_loop(tmp_path: Path) -> None:
    with callboard.sync.Callboard("sqlite:///./board", base=tmp_path) as board:
        agent = board.start(game())
        assert agent.ask("ping", Word(text="won", number=0), PATIENCE_S).number == 10
        agent.kill("ping")
        assert agent.ask("ping", Word(text="won", number=0), PATIENCE_S).number == 10
        assert [(each.role, each.epoch) for each in agent.actors()] == [("ping", 2), ("pong", 1)]
        with pytest.raises(RequestRefused):
            agent.kill("nobody")
        agent.stop(PATIENCE_S)
        agent.ended()
        assert agent.has_ended
