"""Actors that misbehave. A module of its own, because the processes they run in must be able to import it."""

import os
import signal
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from random import Random

from callboard.actors.core.agent import ActorSpec, AgentSpec
from callboard.actors.core.decision import Decision, Effect, Input, Moment, Origin, Reply, Stopped, Stopping
from callboard.actors.runtime.actor_system import seal
from callboard.messages.distribution.fleet_mail import CommandRequest
from callboard.testing.conformance.runtime_example import Counter, example_agent, open_shouting_world, said, word

FOR_EVER_S = 3600
"""Longer than any test."""


def once(marker: Path) -> bool:
    """True the first time, in any process."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def hang_once(marker: Path, rng: Random) -> Decision:
    """The first incarnation never comes up."""
    if once(marker):
        marker.write_text(str(os.getpid()))
        time.sleep(FOR_EVER_S)
    return Counter(100, rng)


def die_once(marker: Path, rng: Random) -> Decision:
    """The first incarnation dies before it comes up."""
    if once(marker):
        os.kill(os.getpid(), signal.SIGKILL)
    return Counter(100, rng)


class Traitor:
    """Tells the key of its system, and its own socket number."""

    def __init__(self, settings: None, rng: Random) -> None:
        pass

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        match message:
            case CommandRequest():
                pid = os.getpid()
                numbers = [number for owner, number in seal._receivers if owner == pid]
                return [Reply(origin, said(seal.member().key.hex(), numbers[0]))]
            case Stopping():
                return [Stopped()]
        return []


def agent_of(actor: ActorSpec, diary: Path) -> AgentSpec:
    """An agent of one actor."""
    return AgentSpec("chaos", (actor,), partial(open_shouting_world, diary))


def own_an_agent(folder: Path) -> None:
    """What a service does that is about to be killed: run an agent, fork a copy of itself, and say so."""
    import asyncio

    from callboard.actors.runtime import start_agent

    async def service() -> None:
        agent = await start_agent(example_agent(folder / "diary"), "processes", home_base=folder)
        await agent.ask("friend", word("echo"), 20)
        await agent.ask("echo", word("ready"), 20)
        clone = os.fork()
        if clone == 0:
            time.sleep(FOR_EVER_S)  # noqa: ASYNC251  # and hold on to the service's end of every pipe
        (folder / "clone").write_text(str(clone))
        (folder / "ready").touch()
        await agent.ended()

    asyncio.run(service())


if __name__ == "__main__":
    own_an_agent(Path(sys.argv[1]))
