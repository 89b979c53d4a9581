"""Many different pages are drawn less often than few, so that they do not slow down the service."""

import asyncio

from callboard.web.console.live import CORE_SHARE, Pace
from tests.web.served import run

COST_S = 0.01


@run
async def test_drawings_take_a_share_of_a_core_and_the_first_none_of_the_time():
    pace, loop = Pace(), asyncio.get_running_loop()
    began_s = loop.time()
    turns = [asyncio.create_task(pace.turn(COST_S)) for _ in range(4)]
    await turns[0]
    assert not turns[3].done()
    await asyncio.gather(*turns)
    assert loop.time() - began_s >= 3 * COST_S / CORE_SHARE - 0.001
