"""Play stories: ``story.py [FILE ...]`` says what differs, ``story.py --rewrite [FILE ...]`` puts it into the files."""

import difflib
import sys
import tempfile
from functools import partial
from pathlib import Path

from stage import Stage
from structlog.testing import capture_logs
from transcript import played
from verbs import VERBS, perform

from callboard.actors.runtime.simulated.simulated import Simulation

__all__ = ["VERBS", "main", "play"]

HERE = Path(__file__).resolve().parent


def play(text: str, seed: int) -> str:
    """The story as it goes when ``seed`` decides the order in which actors hear of things."""
    with (
        tempfile.TemporaryDirectory(prefix="callboard-story-") as folder,
        capture_logs(),
        Simulation(seed) as simulation,
    ):
        return simulation.run(_played(text, Stage(simulation, Path(folder))))


async def _played(text: str, stage: Stage) -> str:
    async with stage.board:
        try:
            return await played(text, partial(perform, stage))
        finally:
            for edge in stage.edges.values():
                if edge.subscriber is not None:
                    await edge.subscriber.stop(0)


def main(*arguments: str) -> int:
    rewrite = "--rewrite" in arguments
    files = [Path(name) for name in arguments if name != "--rewrite"] or sorted(HERE.glob("*.txt"))
    different = 0
    for file in files:
        told = file.read_text()
        now = play(told, seed=0)
        if rewrite:
            file.write_text(now)
        elif now != told:
            different += 1
            sys.stdout.writelines(difflib.unified_diff(told.splitlines(True), now.splitlines(True), file.name, "now"))
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
