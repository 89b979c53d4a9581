"""``callboard jobs demo``: four workers take the digests of a tree, while they are killed."""

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import callboard
from callboard.board.board import Callboard
from callboard.board.jobs.job import Job
from callboard.board.jobs.new_job import NewJob
from callboard.cli.terminal.stage import Services, conclude, stage
from callboard.errors import NotAnswered, RequestRefused
from callboard.messages.jobs.job_state import JobState

if TYPE_CHECKING:
    from callboard.board.jobs.board_jobs import BoardJobs

NAMES = ("a", "b", "c", "d")
KILLS = 3
FILES_MAX = 2000
TICKS = 2
"""Jobs of the schedule that the demo waits for."""
DEADLINE_S = 300.0
"""For what takes half a minute."""


def demo(
    tree: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="Whose files. Default: callboard's own.")
    ] = None,
) -> None:
    """Take the digests of a tree by four workers, three of which are killed, and compare them."""
    from callboard.cli.terminal.screen import progress

    root = (tree or Path(callboard.__file__).parent).absolute()
    files = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)[:FILES_MAX]
    if not files:
        raise RequestRefused(f"there are no files in {root}; name another folder")
    with stage() as (folder, tell), progress("jobs") as bar:
        good, line = asyncio.run(Demo(folder, files, tell, bar).run())
    conclude(line, good=good)


class Demo:
    """Four workers, and this process, which adds jobs and watches them."""

    def __init__(self, folder: Path, files: list[Path], tell: Callable[[str], None], bar: Callable[..., None]) -> None:
        self._folder, self._files, self._tell, self._bar = folder, files, tell, bar
        self._services = Services()
        self._killed = list[str]()

    async def run(self) -> tuple[bool, str]:
        """Whether all went well, and the figures."""
        from callboard.cli.jobs_demo.service import LOG

        async with Callboard(LOG, base=self._folder) as board:
            try:
                with self._services:
                    for name in NAMES:
                        self._start(name)
                    async with asyncio.timeout(DEADLINE_S):
                        return await self._play(board.jobs)
            except TimeoutError:
                raise NotAnswered(f"the jobs have not ended after {DEADLINE_S:g} s") from None

    async def _play(self, jobs: "BoardJobs") -> tuple[bool, str]:
        await jobs.configure("digests", ["file/digest"])
        await jobs.schedule("count", "tree/count", str(self._folder), every_s=1)
        digests = [self._digest(place, path) for place, path in enumerate(self._files)]
        last = await jobs.batch(digests, NewJob(topic="tree/manifest", payload=str(self._folder)))
        self._tell(f"{len(digests)} jobs are added, and one that runs after them")
        async with aclosing(jobs.watch()) as changes:
            async for queues in changes:
                ended = next(each.ended for each in queues if each.name == "digests")
                self._bar("digests", ended, len(digests))
                if len(self._killed) < KILLS and ended * (KILLS + 1) > len(digests) * (1 + len(self._killed)):
                    self._kill(NAMES[len(self._killed)], ended)
                if ended == len(digests) and await self._ticks(jobs) >= TICKS:
                    break
        return await self._outcome(jobs, await jobs.wait(last.id, DEADLINE_S))

    def _digest(self, place: int, path: Path) -> NewJob:
        return NewJob(topic="file/digest", payload=[str(path), str(self._folder / f"{place}.digest")])

    def _start(self, name: str) -> None:
        from callboard.cli.jobs_demo.service import serve

        self._services.start(name, serve, self._folder, name)

    def _kill(self, name: str, ended: int) -> None:
        self._services.kill(name)
        self._killed.append(name)
        self._tell(f"kill -9 of worker {name}, after {ended} jobs; it starts again")
        self._start(name)

    async def _ticks(self, jobs: "BoardJobs") -> int:
        return len((await jobs.find(JobState.SUCCEEDED, topic="tree/count", limit=1000)).items)

    async def _outcome(self, jobs: "BoardJobs", last: Job) -> tuple[bool, str]:
        expected = sorted(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}\n" for path in self._files)
        found = (self._folder / "manifest").read_text().splitlines(keepends=True)
        wrong = len(set(expected).symmetric_difference(found))
        crashes = ended = 0
        page = await jobs.find(JobState.SUCCEEDED, topic="file/digest", limit=1000)
        while page.items:
            ended, crashes = ended + len(page.items), crashes + sum(each.crashes for each in page.items)
            page = await jobs.find(JobState.SUCCEEDED, topic="file/digest", limit=1000, after=page.items[-1].id)
        good = not wrong and ended == len(self._files) == last.result and len(self._killed) == KILLS
        return good, (
            f"jobs demo: {ended} of {len(self._files)} digests by {len(NAMES)} workers, {len(self._killed)} killed, "
            f"{crashes} jobs run again; {await self._ticks(jobs)} ticks; the manifest after them has {last.result}, "
            f"{wrong} wrong"
        )
