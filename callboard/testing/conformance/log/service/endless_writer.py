"""A writer to be killed: ``python -m callboard.testing.conformance.log.service.endless_writer URL TOPIC NAME COUNT``.

It appends COUNT records at a time, forever, and prints their offsets once they are acknowledged.
"""

import asyncio
import sys
from pathlib import Path

from callboard.backends.registry import open_log
from callboard.testing.conformance.log.harness import new

PADDING = " " * 20_000
"""Makes an append long enough to be interrupted."""


async def _write(url: str, topic: str, name: str, count: int) -> None:
    log = open_log(url, Path())
    number = 0
    while True:
        offsets = await log.append(topic, [new(f"{name} {number} {part}{PADDING}") for part in range(count)])
        sys.stdout.write(" ".join(map(str, offsets)) + "\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    _, log_url, topic_name, writer_name, records = sys.argv
    asyncio.run(_write(log_url, topic_name, writer_name, int(records)))
