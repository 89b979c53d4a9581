"""The embedded runtime: an agent inside the service's process, on its event loop."""

import asyncio
from random import Random

from callboard.actors.core.agent import ActorStatus, Agent, AgentSpec, Clock
from callboard.actors.runtime.actor_system.actors import ActorAddress
from callboard.actors.runtime.actor_system.loop_base import LoopBase
from callboard.actors.runtime.control import StartAgent
from callboard.actors.runtime.embedded.loop_runner import LoopSite
from callboard.actors.runtime.frames import Frame
from callboard.actors.runtime.running_agent import RunningAgent
from callboard.actors.runtime.supervision import Limits
from callboard.actors.runtime.supervisor import Supervisor

SERVICE = "service"
"""The sender of what the service mails to the gateway."""


class LoopLink:
    """The connection of an agent with its gateway in one process: passes references, no bytes.

    It is both ends: the gateway's ``Outlet`` and the service's ``Link``.
    """

    watch = None

    def __init__(self, base: LoopBase, site: LoopSite, agent: RunningAgent) -> None:
        self._base = base
        self._site = site
        self._agent = agent
        self._gateway = ""
        self.opened = asyncio.Event()

    # The gateway's end.

    def open(self, gateway: ActorAddress) -> None:
        """Connect the gateway."""
        self._gateway = gateway.actorAddressString
        self.opened.set()

    def put(self, frame: Frame) -> None:
        """Pass a frame from the gateway to the service."""
        self._agent.receive(frame)

    def received(self) -> list[Frame]:
        """Empty: frames are mailed."""
        return []

    # The service's end.

    def send(self, frame: Frame) -> None:
        """Mail a frame to the gateway."""
        self._base.send(SERVICE, self._gateway, frame)

    def kill(self, actor: ActorStatus) -> None:
        """End the actor and its mailbox."""
        address = self._base.instance(self._gateway).address_of(actor.role)
        if address is not None:
            self._base.kill(address.actorAddressString)

    async def close(self) -> None:
        """End the actors and close their world."""
        self._base.close()
        await self._site.close()


async def start_embedded(spec: AgentSpec, clock: Clock, rng: Random, limits: Limits | None = None) -> Agent:
    """Run the agent on the running event loop. Its actors are up within a few turns of the loop.

    Args:
        spec: The agent.
        clock: Tells its actors the time.
        rng: The source of its actors' randomness; drawn from once.
        limits: The bounds of supervision, by default the usual ones.
    """
    base = LoopBase(asyncio.get_running_loop(), spec.name)
    return await start_on(base, spec, clock, rng, limits or Limits())


async def start_on(base: LoopBase, spec: AgentSpec, clock: Clock, rng: Random, limits: Limits) -> Agent:
    """Run the agent on this base."""
    agent = RunningAgent(spec)
    site = LoopSite(clock, spec.world)
    link = LoopLink(base, site, agent)
    agent.attach(link)
    supervisor = base.create(Supervisor).actorAddressString
    start = StartAgent(spec.name, spec.actors, rng.getrandbits(64), limits, {}, site, link)
    base.send(SERVICE, supervisor, start)
    try:
        await link.opened.wait()
    except BaseException:  # cancelled: no caller will have it, to stop it
        await link.close()
        raise
    return agent
