"""What is wrong with an agent is found before it starts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from callboard.actors import ActorSpec, After, AgentSpec, Append, Effect, Input, Moment, Origin, Perform
from callboard.door.actors import agents
from callboard.errors import ConfigError


class Idle:
    def __init__(self, settings: object, rng: Random) -> None:
        if settings == "bad":
            raise KeyError("no such setting")

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        return []


class Waiting(Idle):
    async def receive(self, message: Input, origin: Origin, now: Moment) -> Any:  # type: ignore[override]
        return []


class Streaming(Idle):
    async def receive(self, message: Input, origin: Origin, now: Moment) -> Any:  # type: ignore[override]
        yield After("tick", 1.0)


class Forgetful(Idle):
    def receive(self, message: Input) -> Any:  # type: ignore[override]
        return []


class Deaf:
    def __init__(self, settings: object, rng: Random) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Shout(Perform):
    text: str


class Bare(Perform):
    pass


async def shout(effect: Shout) -> None:
    pass


def whisper(effect: Shout) -> None:
    pass


async def open_world() -> Any:
    pass


RIGHT = AgentSpec("idle", (ActorSpec("one", Idle, None), ActorSpec("two", Idle, None)), topics=("shop.orders",))


def test_a_right_agent_is_taken_and_normalised() -> None:
    given = replace(RIGHT, actors=[*RIGHT.actors], effects={Shout: shout})  # type: ignore[arg-type]
    assert agents.agent(given, "callboard") == replace(RIGHT, effects={Shout: shout})
    assert agents.agent(replace(RIGHT, world=open_world), "callboard").world is open_world


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("idle", "agent is 'idle', but should be a AgentSpec"),
        (Idle, "should be a AgentSpec"),
        (replace(RIGHT, name=""), "name is '', but should be a name"),
        (replace(RIGHT, actors=()), "actors is .*at least one"),
        (replace(RIGHT, actors=(Idle,)), r"actors\[0\] is .*, but should be a ActorSpec"),
        (replace(RIGHT, actors=ActorSpec("one", Idle, None)), "actors is .*, but should be a list"),
        (replace(RIGHT, actors=(ActorSpec("gateway", Idle, None),)), r"actors\[0\].role is 'gateway', but should be"),
        (replace(RIGHT, actors=(ActorSpec("supervisor", Idle, None),)), "other than gateway and supervisor"),
        (replace(RIGHT, actors=(ActorSpec(7, Idle, None),)), "role is 7, but should be a name"),
        (replace(RIGHT, actors=(ActorSpec("one", None, None),)), "decision is None, but should be a function"),
        (replace(RIGHT, actors=(ActorSpec("a", Idle, 1), ActorSpec("a", Idle, 2))), "two actors have the role 'a'"),
        (replace(RIGHT, actors=(ActorSpec("one", Idle, "bad"),)), "actor 'one' cannot be used: KeyError: .*no such"),
        (replace(RIGHT, actors=(ActorSpec("one", Idle(None, Random(1)), None),)), "but should be a function"),
        (replace(RIGHT, actors=(ActorSpec("one", lambda: Idle, None),)), "called with its settings and a Random"),
        (replace(RIGHT, actors=(ActorSpec("one", Deaf, None),)), "no attribute 'receive'"),
        (replace(RIGHT, actors=(ActorSpec("one", Forgetful, None),)), "too many positional arguments"),
        (replace(RIGHT, actors=(ActorSpec("one", Waiting, None),)), "its receive is asynchronous"),
        (replace(RIGHT, actors=(ActorSpec("one", Streaming, None),)), "its receive is asynchronous"),
        (replace(RIGHT, topics="orders"), "topics is 'orders', but should be a list"),
        (replace(RIGHT, topics=("Orders",)), r"topics\[0\] is 'Orders', but should be at most 81"),
        (replace(RIGHT, topics=("callboard.package",)), "but not with 'callboard.'"),
        (replace(RIGHT, topics=("a" * 82,)), "at most 81"),
        (replace(RIGHT, effects=[Shout]), "effects is .*, but should be a mapping"),
        (replace(RIGHT, effects={"Shout": shout}), "has a key that is 'Shout', but should be a frozen dataclass"),
        (replace(RIGHT, effects={Bare: shout}), "should be a frozen dataclass derived from Perform"),
        (replace(RIGHT, effects={Append: shout}), "an effect of your own"),
        (replace(RIGHT, effects={Shout: whisper}), r"effects\[Shout\] is .*, but should be .*`async def`"),
        (replace(RIGHT, effects={Shout: None}), "async def"),
        (replace(RIGHT, effects={Shout: shout}, world=open_world), "effects and a world"),
        (replace(RIGHT, world="sqlite:///./board.db"), "world is .*, but should be a function"),
    ],
)
def test_a_wrong_agent_is_refused_with_what_to_change(wrong: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        agents.agent(wrong, "callboard")


def test_topics_of_another_board_on_the_log_cannot_be_told_from_the_agents_own() -> None:
    assert agents.agent(replace(RIGHT, topics=("callboard.package",)), "blue").topics == ("callboard.package",)
