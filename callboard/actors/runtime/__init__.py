"""The actor runtime: runs agents on the service's event loop, in processes, or simulated."""

from collections.abc import Callable
from pathlib import Path
from random import Random, SystemRandom
from typing import Literal

from callboard.actors.core.agent import Agent, AgentSpec, Clock
from callboard.actors.runtime.actor_system.release import demand_tested_release
from callboard.actors.runtime.clock import SystemClock
from callboard.actors.runtime.supervision import Limits

__all__ = ["Limits", "Runtime", "SystemClock", "start_agent"]

Runtime = Literal["embedded", "processes"]


async def start_agent(
    spec: AgentSpec,
    runtime: Runtime = "embedded",
    *,
    clock: Clock | None = None,
    rng: Random | None = None,
    limits: Limits | None = None,
    home_base: Path | None = None,
    configure_logging: Callable[[], None] | None = None,
) -> Agent:
    """Run an agent.

    Args:
        spec: The agent. For ``processes`` all of it must be picklable and importable.
        runtime: ``embedded`` on the running event loop, or ``processes`` with a process for each actor.
        clock: Tells its actors the time; the system's by default.
        rng: The source of its actors' randomness; the system's by default.
        limits: The bounds of supervision; by default the runtime's own.
        home_base: For ``processes``, where to create the private folder of its sockets.
        configure_logging: For ``processes``, called in every process started; importable.

    Raises:
        ConfigError: ``processes`` cannot run this agent, or another thespian is installed; the message says which.
        AgentFailed: The processes did not start.
    """
    clock = clock or SystemClock()
    rng = rng or SystemRandom()
    demand_tested_release()
    # Imported here, so that a board used only for reading loads neither thespian nor what processes need.
    if runtime == "embedded":
        from callboard.actors.runtime.embedded.embedded import start_embedded

        return await start_embedded(spec, clock, rng, limits)
    from callboard.actors.runtime.processes.processes import LIMITS, start_processes

    return await start_processes(
        spec,
        clock,
        rng,
        limits=limits or LIMITS,
        home_base=home_base,
        configure_logging=configure_logging,
    )
