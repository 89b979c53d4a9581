"""A package that cannot be imported is quarantined; packages on other paths are still imported."""

import asyncio
from pathlib import Path

import pytest

from callboard import Callboard, NotAllImported
from callboard.actors.core.backoff import Backoff

PATIENCE_S = 60.0
QUICK = Backoff(first_s=0.01, max_s=0.05)


def blob_files(log: Path) -> list[Path]:
    return [path for path in (log / "blobs").rglob("*") if len(path.name) == 62]


def written(out: Path) -> dict[str, int]:
    files = (path for path in out.rglob("*") if path.is_file() and ".callboard" not in path.parts)
    return {path.name: path.stat().st_size for path in files}


@pytest.mark.proves("W22", "W23")
def test_a_lost_file_blocks_only_its_path_until_it_is_restored_and_retried(tmp_path: Path) -> None:
    (site := tmp_path / "site").mkdir()
    (site / "large").write_bytes(b"1" * 200_000)
    (site / "page").write_bytes(b"1")
    log, out = tmp_path / "board", tmp_path / "out"

    async def scene() -> None:
        async with Callboard(f"sqlite:///{log}") as board:
            publisher = board.publisher("site")
            large = await publisher.publish(site, ["/large"])
            (lost,) = await asyncio.to_thread(blob_files, log)
            content = lost.read_bytes()
            lost.unlink()
            await publisher.publish(site, ["/page"])
            edge = board.subscriber(
                "edge-1", into=str(out), editable=True, max_retries=1, retry=QUICK, on_give_up="quarantine"
            )
            async with edge:
                with pytest.raises(NotAllImported, match=f"offset {large.offset} of site is held"):
                    await edge.caught_up(PATIENCE_S)
                assert await asyncio.to_thread(written, out) == {"page": 1}
                assert (await edge.report()).held == 1
                lost.write_bytes(content)
                result = await board.retry("edge-1", large.offset)
                assert result.accepted
                await edge.caught_up(PATIENCE_S)
                assert await asyncio.to_thread(written, out) == {"page": 1, "large": 200_000}

    asyncio.run(scene())


def test_quarantined_packages_are_cleared_although_the_queue_is_empty(tmp_path: Path) -> None:
    (site := tmp_path / "site").mkdir()
    (site / "large").write_bytes(b"1" * 200_000)
    log = tmp_path / "board"

    async def scene() -> None:
        async with Callboard(f"sqlite:///{log}") as board:
            publisher = board.publisher("site")
            for path in ("/large", "/"):
                await publisher.publish(site, [path])
            for lost in await asyncio.to_thread(blob_files, log):
                lost.unlink()
            edge = board.subscriber(
                "edge-1", into=str(tmp_path / "out"), editable=True, max_retries=1, retry=QUICK,
                on_give_up="quarantine",
            )  # fmt: skip
            async with edge:
                with pytest.raises(NotAllImported):
                    await edge.caught_up(PATIENCE_S)
                assert (await edge.report()).held == 2
                assert (await board.clear("edge-1", up_to=1, reason="lost")).packages == 1
                assert (await board.clear("edge-1", reason="lost")).packages == 1
                assert (await edge.report()).held == 0

    asyncio.run(scene())
