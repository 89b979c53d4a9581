"""What a service runs on a board, and how that is."""

from dataclasses import dataclass

from callboard.actors.core.agent import Agent
from callboard.actors.subscriber.roles import IMPORTER
from callboard.board.board import Callboard
from callboard.board.context import BoardContext
from callboard.board.envelope import Diagnostic
from callboard.board.jobs.work.worker import Worker
from callboard.board.publisher import Publisher
from callboard.board.subscriber import Subscriber
from callboard.door.rules import checked, instance_of, shown
from callboard.errors import CallboardError, ConfigError, NotAnswered
from callboard.escaping import escaped
from callboard.messages.distribution.mailbox import ReportQuery
from callboard.messages.distribution.topic_messages import DiscoveryMessage

Part = Publisher | Subscriber | Worker

ANSWER_S = 2.0
"""An importer reports between two effects; one that does not is busy."""

NOT_STARTED, FAILED = "it is not started", "failed"

WORKER = {
    "stopped": NOT_STARTED,
    FAILED: "it has failed; the log line worker.ended says why",
    "waiting": "it waits for its membership in the cluster",
    "paused": "it is paused",
}
"""Why a worker in this state takes no jobs."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a part is: its state in one word, and why it is not ready."""

    kind: str
    name: str
    state: str
    problem: str = ""

    @property
    def told(self) -> Diagnostic:
        """What is wrong with it."""
        code = "failed" if self.state == FAILED else "not_ready"
        return Diagnostic(code, escaped(f"{self.kind} {self.name}: {self.problem}"))


def demand(board: object, parts: tuple[object, ...]) -> None:
    """Raise ``ConfigError`` unless these are a board and parts."""
    checked(ConfigError, {"board": instance_of(Callboard)}, {"board": board})
    for part in parts:
        if not isinstance(part, Part):
            known = "a publisher, a subscriber or a worker, as `board` makes it"
            raise ConfigError(f"a part is {shown(part)}, but should be {known}")


async def failure(board: BoardContext, part: Part) -> Standing | None:
    """The part, if it has ended with an error. Asks nobody, so that what is busy is not taken for dead."""
    if isinstance(part, Subscriber) and part.agent is not None and part.agent.has_ended:
        reason = await _why(part.agent)
        return Standing("subscriber", part.name, FAILED, f"it has failed: {reason}") if reason else None
    if isinstance(part, Worker) and part.state == FAILED:
        return Standing("worker", board.instance, FAILED, WORKER[FAILED])
    return None


async def standing(board: BoardContext, part: Part) -> Standing:
    """How this part is now. Starts nothing."""
    if isinstance(part, Worker):
        return Standing("worker", board.instance, part.state, WORKER.get(part.state, ""))
    if isinstance(part, Subscriber):
        return await failure(board, part) or await _subscriber(part)
    runs = part.name in board.agents.publishers
    return Standing("publisher", part.name, "running" if runs else "stopped", "" if runs else NOT_STARTED)


async def _subscriber(edge: Subscriber) -> Standing:
    if edge.agent is None or edge.agent.has_ended:
        return Standing("subscriber", edge.name, "stopped", NOT_STARTED)
    try:
        said = await report(edge.agent, ANSWER_S)
    except NotAnswered:
        state = doing = "busy"
    else:
        state = said.state.name.lower()
        doing = f"{state}: {said.reason}" if said.reason else state
    return Standing("subscriber", edge.name, state, "" if edge.ready else f"it is not ready yet, and {doing}")


async def _why(agent: Agent) -> str:
    """Why it has ended; empty if it was stopped."""
    try:
        await agent.ended()
    except CallboardError as error:
        return str(error) or type(error).__name__
    return ""


async def report(agent: Agent, timeout_s: float) -> DiscoveryMessage:
    """What a subscriber would announce now. Raises ``NotAnswered``, and what has ended it."""
    return (await agent.ask(IMPORTER, ReportQuery(), timeout_s)).announcement
