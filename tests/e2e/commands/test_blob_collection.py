"""Unused blobs at the command line."""

import asyncio
import os
import time

import pytest

from callboard import Callboard


@pytest.mark.proves("F20", "F22", "F23")
def test_unused_blobs_are_listed_and_then_removed(terminal):
    large = terminal.folder / "site" / "large.bin"
    for content in (b"old", b"new"):
        large.write_bytes(content * 50_000)
        package = terminal.json("publish", "./site")
    blobs = [file for file in (terminal.folder / "board.db" / "blobs").rglob("*") if len(file.name) == 62]
    assert len(blobs) == 2
    terminal.run("log", "trim", "--below", str(package["offset"]), "--yes")
    assert terminal.json("blobs", "collect")["unused"] == 0
    for file in blobs:
        os.utime(file, (time.time() - 100_000,) * 2)
    found = terminal.json("blobs", "collect")
    assert (found["blobs"], found["unused"], found["unused_bytes"], found["removed"]) == (2, 1, 150_000, 0)
    assert "remove 1 blob, 150 kB? There is no terminal to ask on" in terminal.refused("blobs", "collect", "--delete")
    assert "removed 1 blob, 150 kB" in terminal.out("blobs", "collect", "--delete", "--yes")
    assert terminal.json("blobs", "collect", "--delete", "--yes")["removed"] == 0
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert (terminal.folder / "out" / "large.bin").read_bytes() == b"new" * 50_000


def test_a_publisher_has_a_janitor_only_if_collection_is_configured(tmp_path):
    async def roles(name: str, grace_s: float, *until: str) -> set[str]:
        async with Callboard(f"sqlite:///{tmp_path}/{name}.db", blob_grace_s=grace_s) as board:
            agent = await board.publisher("site").start()
            deadline = time.monotonic() + 60
            while not set(until) <= (found := {actor.role for actor in agent.actors()}):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            return found

    assert asyncio.run(roles("one", 7200.0, "blob_janitor"))
    assert "blob_janitor" not in asyncio.run(roles("other", 0.0, "distributor", "command_sender"))


def test_a_collection_leaves_the_blobs_of_another_prefix_alone(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "large.bin").write_bytes(b"large" * 50_000)

    def blobs() -> dict[str, set[str]]:
        stores = (tmp_path / "board.db").glob("blobs*")
        return {store.name: {file.name for file in store.rglob("*") if len(file.name) == 62} for store in stores}

    async def scenario() -> None:
        log = f"sqlite:///{tmp_path}/board.db"
        async with Callboard(log, prefix="two") as two, Callboard(log) as one:
            await two.publisher().publish(tmp_path / "site")
            (tmp_path / "site" / "large.bin").write_bytes(b"other" * 50_000)
            await one.publisher().publish(tmp_path / "site")
            before = blobs()
            assert {name: len(names) for name, names in before.items()} == {"blobs": 1, "blobs-two": 1}
            for file in tmp_path.rglob("board.db/blobs*/**/*"):
                os.utime(file, (time.time() - 100_000,) * 2)
            for board in (one, two):
                assert (await board.collect_blobs(delete=True)).removed == 0
            assert blobs() == before

    asyncio.run(scenario())
