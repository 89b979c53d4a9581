"""Listeners are killed while they handle events, and start again: none misses an event, and few come twice."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from callboard import Callboard
from tests.chaos.failover.storm import POLL_S, Service

LONG = "CALLBOARD_LONG" in os.environ
NAMES, EVENTS, KILLS = (("a", "b", "c", "d"), 20_000, 60) if LONG else (("a", "b"), 2000, 6)
SEED = 1
DEADLINE_S = 3600.0 if LONG else 120.0


def heard(folder: Path, name: str) -> Counter[int]:
    file = folder / f"{name}.heard"
    return Counter(map(int, file.read_text().split())) if file.exists() else Counter()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - other processes do it
        await asyncio.sleep(POLL_S)


async def storm(folder: Path, log: str) -> tuple[int, Counter[str]]:
    """Publish events, and kill a listener after each part of them; returns how many, and who was killed how often."""
    random, published, kills = Random(SEED), 0, Counter[str]()
    words, module = (log, str(folder)), "tests.chaos.events.listening_service"
    services = {name: Service(name, words, folder, module) for name in NAMES}
    async with asyncio.timeout(DEADLINE_S), Callboard(log, blobs="./blobs", base=folder) as board:
        try:
            for service in services.values():
                service.start()
            await until(lambda: all(service.is_up for service in services.values()))
            part = EVENTS // KILLS
            for _ in range(KILLS):
                await asyncio.gather(
                    *(board.events.publish(f"a/{n % 3}", {"n": n}) for n in range(published, published + part))
                )
                published += part
                name, enough = random.choice(NAMES), published - random.randrange(part)
                await until(lambda name=name, enough=enough: len(heard(folder, name)) >= enough)  # type: ignore[misc]
                services[name].kill()
                services[name].start()
                kills[name] += 1
            await until(lambda: all(len(heard(folder, name)) == EVENTS // KILLS * KILLS for name in NAMES))
        finally:
            for service in services.values():
                service.kill()
    return published, kills


@pytest.mark.proves("J89")
@pytest.mark.timeout(7200)
def test_listeners_that_are_killed_hear_every_event(tmp_path: Path) -> None:
    published, kills = asyncio.run(storm(tmp_path, f"sqlite:///{tmp_path}/board.db"))
    found = {name: heard(tmp_path, name) for name in NAMES}
    twice = {name: sum(its.values()) - len(its) for name, its in found.items()}
    print(f"\n{published} events, heard again after {dict(kills)} kills: {twice}")  # noqa: T201 - shown with -s
    assert all(set(its) == set(range(published)) for its in found.values())
    assert all(its <= kills[name] * published for name, its in twice.items())
