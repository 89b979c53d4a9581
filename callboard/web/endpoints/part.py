"""What a service runs on a board, and how that is."""

from dataclasses import dataclass

from callboard.actors.core.agent import Agent
from callboard.actors.subscriber.roles import IMPORTER
from callboard.board.context import BoardContext
from callboard.board.jobs.work.worker import Worker
from callboard.board.publisher import Publisher
from callboard.board.subscriber import Subscriber
from callboard.errors import CallboardError
from callboard.messages.distribution.mailbox import ReportQuery
from callboard.messages.distribution.topic_messages import DiscoveryMessage

Part = Publisher | Subscriber | Worker

ANSWER_S = 2.0
"""An importer reports between two effects; one that does not is busy."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a part is: its state in one word, and why it is not ready; ``failed``: it has ended with that error."""

    kind: str
    name: str
    state: str
    problem: str = ""
    failed: bool = False


async def standing(board: BoardContext, part: Part) -> Standing:
    """How this part is now. Starts nothing."""
    match part:
        case Publisher(name=name):
            runs = name in board.agents.publishers
            return Standing("publisher", name, "running" if runs else "stopped", "" if runs else "it is not started")
        case Subscriber():
            return await _subscriber(part)
        case Worker(state=state):
            known = {
                "stopped": "it is not started, or stops", "failed": "it has failed; its log line worker.ended says why",
                "waiting": "it waits for its membership in the cluster", "paused": "it is paused",
            }  # fmt: skip
            return Standing("worker", board.instance, state, known.get(state, ""), failed=state == "failed")


async def _subscriber(edge: Subscriber) -> Standing:
    agent = edge.agent
    if agent is None:
        return Standing("subscriber", edge.name, "stopped", "it is not started")
    if agent.has_ended:
        return Standing("subscriber", edge.name, "failed", await _why(agent), failed=True)
    try:
        said = await report(agent)
    except CallboardError as error:
        return Standing("subscriber", edge.name, "unknown", str(error))
    state = said.state.name.lower()
    return Standing("subscriber", edge.name, state, "" if edge.ready else _waits(state, said.reason))


def _waits(state: str, reason: str) -> str:
    return f"it is not ready yet, and {state}" + (f": {reason}" if reason else "")


async def _why(agent: Agent) -> str:
    try:
        await agent.ended()
    except CallboardError as error:
        return str(error)
    return "it was stopped"


async def report(agent: Agent) -> DiscoveryMessage:
    """What a subscriber would announce now. Raises ``NotAnswered``, and what has ended it."""
    return (await agent.ask(IMPORTER, ReportQuery(), ANSWER_S)).announcement
