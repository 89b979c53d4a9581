"""Append hostile records to the log of a running board: ``records.py COUNT``; exits with 1 if an actor fails.

On the board are subscribers of every sort, publishers that tell events, hold requests up and remove blobs, and a viewer
that is asked all the time. After each batch of records no actor has crashed, no agent has ended, none spins or grows,
and a good package comes to every subscriber byte by byte. A batch that made one fail is appended again to a new
board, then halves of it, as long as one fails; ``--seed``, ``--first`` and COUNT name what is left.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench import BATCH, Bench, Broken, bench
from fleet import listening

from callboard.errors import CallboardError
from callboard.testing.servers.postgres import own_schema, postgres_server

GROWTH_MB = 250.0
"""From the end of the warm-up to the end: caches that are filled, each of them bounded."""
WARM_UP = 0.2
REPORT_EVERY = 10


class Failed(Exception):
    """An actor failed at these numbers."""

    def __init__(self, numbers: range, reason: str) -> None:
        super().__init__(f"{reason[:3000]}")
        self.numbers = numbers


async def fuzz(numbers: range, url: str, folder: Path, *, seed: int, keys: bool, say: Callable[[str], None]) -> Bench:
    """The records of these numbers, in batches. Raises ``Failed``."""
    with listening() as logged:
        async with bench(url, folder, seed=seed, keys=keys, logged=logged) as it:
            for start in range(numbers.start, numbers.stop, BATCH):
                batch = range(start, min(start + BATCH, numbers.stop))
                try:
                    await it.batch(batch)
                except (Broken, CallboardError) as error:
                    raise Failed(batch, f"{type(error).__name__}: {error}") from error
                if len(it.used_s) % REPORT_EVERY == 0:
                    took = f"{time.process_time():.0f} s of a processor, {it.longest_step_s:.2f} s in one step"
                    say(f"{it.made} records, {it.memory_mb[-1]:.0f} MB, {took}")
            warm = it.memory_mb[int(len(it.memory_mb) * WARM_UP)]
            if it.memory_mb[-1] - warm > GROWTH_MB:
                raise Failed(numbers, f"grew from {warm:.0f} to {it.memory_mb[-1]:.0f} MB")
            return it


def on_new_board(numbers: range, on: str, *, seed: int, keys: bool) -> Bench:
    """The same on a board of its own, in a folder that is gone afterwards."""
    memory = Path("/dev/shm")  # much faster, where there is one
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None))
        stack.callback(os.chdir, Path.cwd())
        os.chdir(folder)
        url = "sqlite:///./board.db"
        if on == "postgres":
            url = stack.enter_context(own_schema(stack.enter_context(postgres_server()).url))
        return asyncio.run(fuzz(numbers, url, Path(folder), seed=seed, keys=keys, say=_say))


def shrunk(numbers: range, fails: Callable[[range], bool]) -> range:
    """As few of the numbers as cause the failure by themselves; all of them if half of them do not."""
    while len(numbers) > 1 and fails(numbers):
        middle = len(numbers) // 2
        halves = [half for half in (numbers[:middle], numbers[middle:]) if fails(half)]
        if not halves:
            break
        numbers = halves[0]
    return numbers


def main() -> int:
    """Exits with 1 if an actor failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--on", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--keys", action="store_true")
    args = parser.parse_args()

    def fails(numbers: range) -> bool:
        try:
            on_new_board(numbers, args.on, seed=args.seed, keys=args.keys)
        except Failed as failed:
            _say(f"also at {failed.numbers}: {failed}")
            return True
        return False

    began_s = time.monotonic()
    try:
        it = on_new_board(range(args.first, args.first + args.count), args.on, seed=args.seed, keys=args.keys)
    except Failed as failed:
        _say(f"failed at {failed.numbers}: {failed}")
        left = shrunk(failed.numbers, fails)
        keys = " --keys" if args.keys else ""
        _say(f"again: records.py {len(left)} --first {left.start} --seed {args.seed} --on {args.on}{keys}")
        return 1
    _say(f"records: {it.made} on {args.on}{' with keys' * args.keys} in {time.monotonic() - began_s:.0f} s, "
         f"{time.process_time():.0f} s of a processor, {it.goods} good packages, {it.events} events, "
         f"{it.memory_mb[0]:.0f} to {it.memory_mb[-1]:.0f} MB, at most {max(it.memory_mb):.0f}")  # fmt: skip
    _say(f"slowest, in ms: {', '.join(f'{name} {took}' for name, took in it.slowest.most_common())}")
    _say(f"came of it: {', '.join(f'{name} {count}' for name, count in sorted(it.came_of.items()))}")
    _say(f"logged: {', '.join(f'{name} {count}' for name, count in it.logged.counts.most_common(20))}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
