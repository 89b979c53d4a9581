import asyncio
from functools import partial
from pathlib import Path

from callboard.actors.core.agent import ActorSpec, AgentSpec
from callboard.actors.runtime.frames import Frame, Kind
from callboard.actors.runtime.running_agent import RunningAgent
from callboard.testing.conformance.runtime_example import Counter, open_shouting_world, said, word


def test_a_question_cancelled_in_the_turn_of_its_answer_is_cancelled(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = partial(open_shouting_world, tmp_path / "diary")
        agent = RunningAgent(AgentSpec("example", (ActorSpec("counter", Counter, 0),), world))
        asking = asyncio.create_task(agent.ask("counter", word("count"), timeout_s=60))
        await asyncio.sleep(0)
        agent.receive(Frame(Kind.ANSWER, "counter", 1, event=said("count")))
        asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled()

    asyncio.run(scenario())
