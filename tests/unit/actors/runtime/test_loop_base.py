import asyncio
from typing import Any

from callboard.actors.runtime.actor_system.actors import Actor, ActorAddress
from callboard.actors.runtime.actor_system.loop_base import BURST, LoopBase


class Returner(Actor):  # type: ignore[misc]  # thespian is untyped
    """Returns every message."""

    returned = 0

    def receiveMessage(self, msg: Any, sender: ActorAddress) -> None:  # noqa: N802  # thespian's name
        self.returned += 1
        self.send(sender, msg)


def pair(base: LoopBase) -> tuple[str, str]:
    return base.create(Returner).actorAddressString, base.create(Returner).actorAddressString


def test_actors_that_never_stop_leave_the_loop_to_others() -> None:
    async def play() -> list[int]:
        base = LoopBase(asyncio.get_running_loop(), "agent")
        one, other = pair(base)
        base.send(one, other, "ball")
        returned = []
        for _ in range(3):
            await asyncio.sleep(0)
            returned.append(base.instance(one).returned + base.instance(other).returned)
        base.close()
        return returned

    assert asyncio.run(play()) == [BURST, 2 * BURST, 3 * BURST]


def test_mail_to_an_actor_that_is_killed_before_its_turn_is_dropped() -> None:
    async def play() -> tuple[int, int]:
        base = LoopBase(asyncio.get_running_loop(), "agent")
        one, other = pair(base)
        base.send(one, other, "lost")
        base.send(other, one, "kept")
        killed = base.instance(other)
        base.kill(other)
        await asyncio.sleep(0)
        kept = base.instance(one).returned
        base.close()
        return killed.returned, kept

    assert asyncio.run(play()) == (0, 1)
