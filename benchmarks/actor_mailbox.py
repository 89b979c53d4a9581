"""How many messages a second go from one actor to another?

Usage: ``python benchmarks/actor_mailbox.py [--quick]``, a minute. Two actors of one agent: a player serves, and a wall
returns each ball. One ball is a round trip at a time; many keep the mailbox full. In volleys the player serves 64 with
each input, which travel as one mail, and the wall returns only the last. Beside them the same between two tasks with an
``asyncio.Queue`` each, which is the least that a mailbox on an event loop costs. Every ball counts, in both directions.
"""

import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Literal

from ball_game import AGENT, RETURNS, STAYS, Ball, Game
from report import Report, quick, rounds

from callboard import Callboard

GAMES = {"one ball": (1, 1), "64 balls": (64, 1), "volleys of 64": (4, 64)}
"""Balls in the air, and those served with one input."""
PATIENCE_S = 300.0
Runtime = Literal["embedded", "processes"]


def sent(balls: int, volley: int) -> int:
    """Messages of a game, in both directions."""
    return balls + balls // volley


def between_actors(runtime: Runtime, balls: int, in_the_air: int, volley: int) -> float:
    """Messages a second."""

    async def play() -> float:
        with tempfile.TemporaryDirectory() as folder:
            async with Callboard("sqlite:///./board", base=Path(folder), runtime=runtime) as board:
                running = await board.start(AGENT)
                await running.ask("player", Game(balls=64, in_the_air=1, volley=1), PATIENCE_S)
                begun = time.perf_counter()
                await running.ask("player", Game(balls=balls, in_the_air=in_the_air, volley=volley), PATIENCE_S)
                return sent(balls, volley) / (time.perf_counter() - begun)

    return asyncio.run(play())


def between_queues(balls: int, in_the_air: int, volley: int) -> float:
    """Messages a second between two tasks."""

    async def play() -> float:
        there: asyncio.Queue[Ball] = asyncio.Queue()
        back: asyncio.Queue[Ball] = asyncio.Queue()

        async def wall() -> None:
            while True:
                ball = await there.get()
                if ball.returns:
                    back.put_nowait(ball)

        returning = asyncio.create_task(wall())
        begun, served = time.perf_counter(), 0
        while served < balls + in_the_air * volley:
            if served >= in_the_air * volley:
                await back.get()
            served += volley
            for _ in range(volley - 1):
                there.put_nowait(STAYS)
            there.put_nowait(RETURNS)
        took_s = time.perf_counter() - begun
        returning.cancel()
        return sent(served, volley) / took_s

    return asyncio.run(play())


def main() -> None:
    report, balls = Report("actor_mailbox"), 20_000 if quick() else 200_000
    for game, (in_the_air, volley) in GAMES.items():
        figures = rounds(
            3,
            {
                "actors": partial(between_actors, "embedded", balls, in_the_air, volley),
                "queues": partial(between_queues, balls, in_the_air, volley),
            },
        )
        note = "goal 200,000"
        report.row(game, figures["actors"], figures["queues"], unit="messages/s", peer_name="asyncio.Queue", note=note)
    for game, (in_the_air, volley) in GAMES.items():
        its = [between_actors("processes", balls // 20, in_the_air, volley) for _ in range(3)]
        report.row(f"{game}, in processes", its, unit="messages/s")
    report.write()


if __name__ == "__main__":
    main()
