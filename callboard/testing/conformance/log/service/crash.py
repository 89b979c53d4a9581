"""A writer is killed during its appends."""

import asyncio
import sys
from itertools import groupby

from callboard.backends.log import Capability
from callboard.testing.conformance.log.harness import LogHarness, new, opened, read_all
from callboard.testing.conformance.verdict import given

_RECORDS = 3
"""Records in every append."""

_KILLED_AFTER = (1, 5, 25)
"""Acknowledged appends of each writer; the next one is under way."""


async def check_a_killed_writer_leaves_whole_appends(harness: LogHarness) -> None:
    """Acknowledged appends are there, the interrupted one is whole or absent, and the other writers continue."""
    acknowledged: dict[int, str] = {}
    async with opened(harness, Capability.SHARED) as log:
        url = given(harness.url, "PROCESSES")
        for name, count in enumerate(_KILLED_AFTER):
            acknowledged |= await _write_and_be_killed(url, harness.topic, f"w{name}", count)
            (offset,) = await log.append(harness.topic, [new(f"after w{name}")])
            acknowledged[offset] = f"after w{name}"
        found = {record.offset: record.payload.decode().rstrip() for record in await read_all(log, harness.topic)}
    assert acknowledged.items() <= found.items()
    for name in range(len(_KILLED_AFTER)):
        mine = [text.split() for text in found.values() if text.startswith(f"w{name} ")]
        appends = [[part for *_, part in append] for _, append in groupby(mine, key=lambda words: words[1])]
        assert appends == [[str(part) for part in range(_RECORDS)]] * len(appends)


async def _write_and_be_killed(url: str, topic: str, name: str, appends: int) -> dict[int, str]:
    """The acknowledged records of another process, by offset, until it was killed."""
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "callboard.testing.conformance.log.service.endless_writer",
        url, topic, name, str(_RECORDS),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert writer.stdout is not None
        lines = [await writer.stdout.readline() for _ in range(appends)]
    finally:
        writer.kill()
        lines += (await writer.communicate())[0].splitlines(keepends=True)
    whole = [line.split() for line in lines if line.endswith(b"\n")]
    assert len(whole) >= appends, "the writer ended by itself"
    return {
        int(offset): f"{name} {number} {part}"
        for number, offsets in enumerate(whole)
        for part, offset in enumerate(offsets)
    }
