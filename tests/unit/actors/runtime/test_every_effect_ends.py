import asyncio
from typing import Any

from callboard.actors.core.agent import World
from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import FindBounds
from callboard.actors.runtime.embedded.loop_runner import SharedWorld


class Cancelled:
    """A world that awaits a cancelled request, such as one on a connection that was closed."""

    async def perform(self, effect: Perform) -> Any:
        request = asyncio.get_running_loop().create_future()
        request.cancel()
        await request

    async def close(self) -> None:
        pass


class Leaving(Cancelled):
    """A world whose library ends the program."""

    async def perform(self, effect: Perform) -> Any:
        raise SystemExit(3)


async def opened() -> World:
    return Cancelled()


async def opened_by_another() -> World:
    return Leaving()


def test_a_cancelled_request_inside_an_effect_ends_its_actor() -> None:
    effect = FindBounds("package")
    ended = asyncio.run(SharedWorld(opened).perform(effect, 7))
    assert (ended.effect, ended.question) == (effect, 7)
    assert "CancelledError" in ended.bug


def test_an_effect_that_would_end_the_program_ends_its_actor() -> None:
    effect = FindBounds("package")
    ended = asyncio.run(SharedWorld(opened_by_another).perform(effect, 7))
    assert (ended.effect, ended.question) == (effect, 7)
    assert "SystemExit" in ended.bug
