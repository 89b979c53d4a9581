"""Starts agents that services wrote."""

from callboard.actors.core.agent import Agent, AgentSpec
from callboard.board.context import BoardContext
from callboard.door.actors import agents as door


async def start(board: BoardContext, agent: AgentSpec) -> Agent:
    """Start an agent of your own; see ``docs/agents.md``. Closing the board stops it.

    Returns when the agent runs; its actors may still be starting, and questions wait for them. Raises ``ConfigError``
    for an agent that cannot run, or not in processes of its own, ``LogError`` if its topics cannot be created, and
    ``AgentFailed`` if its processes do not start.
    """
    return await board.agents.start(door.agent(agent, board.settings.prefix))
