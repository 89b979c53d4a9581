"""What a decision may rely on about its peers, in any order of delivery."""

import asyncio
from collections.abc import Iterable
from random import Random

from callboard.actors.core.agent import ActorSpec, AgentSpec, World
from callboard.actors.core.decision import (
    After,
    Effect,
    Input,
    Moment,
    Origin,
    PeerUp,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.runtime import Limits
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.testing.conformance.runtime_example import heard, said, word

ROUNDS = 12
SETTLE_S = 0.05
"""Of virtual time."""


class Talker:
    """Sends its identity repeatedly, from its start on."""

    def __init__(self, settings: None, rng: Random) -> None:
        self._me = rng.randrange(1 << 40)
        self._said = 0

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case Started() | Tick():
                self._said += 1
                return [Send("listener", word(str(self._me), self._said)), After("more", 0.001)]
            case Stopping():
                return [Stopped()]
        return []


class Listener:
    """Records the mail that it receives, and reports it."""

    def __init__(self, heard: list[tuple[str, int]], rng: Random) -> None:
        self._heard = heard

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match heard(message):
            case PeerUp("talker"):
                self._heard.append(("up", 0))
            case ("ready?", _):
                return [Reply(origin, said("ready"))]
            case (who, number):
                self._heard.append((who, number))
            case Stopping():
                return [Stopped()]
        return []


async def no_world() -> World:
    raise AssertionError("no actor here does I/O")


async def scenario(simulation: Simulation, heard: list[tuple[str, int]]) -> None:
    actors = (ActorSpec("talker", Talker, None), ActorSpec("listener", Listener, heard))
    spec = AgentSpec("talk", actors, no_world)
    agent = await simulation.start(spec, Limits(backoff_s=(0.0,), max_restarts=ROUNDS))
    await agent.ask("listener", word("ready?"), 10)
    for _ in range(ROUNDS):
        await asyncio.sleep(simulation.rng.uniform(0, 0.02))
        await agent.kill("talker")
    await asyncio.sleep(SETTLE_S)
    await agent.stop(1)


def test_a_peer_is_up_before_its_first_mail_and_its_predecessor_is_silent_after_that() -> None:
    for seed in range(25):
        heard: list[tuple[str, int]] = []
        with Simulation(seed) as simulation:
            simulation.run(scenario(simulation, heard))
        assert heard[0] == ("up", 0), f"seed {seed}"
        speaker, count, spoken = "", 0, set()
        for who, number in heard:
            if who == "up":
                spoken.add(speaker)
                speaker, count = "", 0
                continue
            assert who not in spoken, f"seed {seed}: a predecessor was heard"
            assert speaker in ("", who), f"seed {seed}: a successor spoke before it was up"
            if count or len(spoken) > 1:  # the first mail may be sent before there is a listener
                assert number == count + 1, f"seed {seed}: mail was lost or overtaken"
            speaker, count = who, number
        assert len(spoken) > 3, f"seed {seed} tested nothing"
