"""What is right and wrong with a board: its log, blob store and repositories are asked, then its fleet is looked at."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path

from callboard.backends.examination import (
    Clock,
    Examinable,
    ExaminableLog,
    Examination,
    Finding,
    Level,
    ok,
    problem,
    problem_of,
)
from callboard.backends.log import Retention
from callboard.backends.registry import open_log
from callboard.backends.repositories import open_repository
from callboard.board.connect.opening import open_board_blobs
from callboard.board.connect.settings import BoardSettings
from callboard.errors import CallboardError

ANSWER_S = 20.0
"""How long a backend may take to say how it is: longer than one of them takes to tell why it cannot be reached."""


@dataclass(slots=True)
class Checkup:
    """What was found, by what it is about. ``kept`` is what the log's server itself removes, by topic."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    kept: Mapping[str, Retention] = field(default_factory=dict)

    def add(self, about: str, *found: Finding) -> None:
        """Something was found."""
        self.findings.setdefault(about, []).extend(found)

    def is_well(self, about: str = "") -> bool:
        """Whether nothing has to be done, about this or at all."""
        looked_at = [self.findings.get(about, [])] if about else list(self.findings.values())
        return all(finding.level is not Level.PROBLEM for found in looked_at for finding in found)

    def is_fine(self) -> bool:
        """Whether everything is as it should be, and nothing could be better."""
        return all(finding.level is Level.OK for found in self.findings.values() for finding in found)


async def examine_backends(settings: BoardSettings, repositories: Mapping[str, str], clock: Clock) -> Checkup:
    """Ask the log, the blob store and the repositories, each of which may offer to tell; writes nothing.

    Args:
        settings: the board's.
        repositories: where each configured subscriber imports to, by its name.
        clock: of this host.
    """
    checkup = Checkup()

    async def log() -> list[Finding]:
        examination = await examine_log(settings, clock)
        checkup.kept = examination.kept
        return examination.findings

    works: dict[str, Callable[[], Awaitable[Sequence[Finding]]]] = {
        "log": log,
        "blobs": partial(_examine_blobs, settings, clock),
        **{
            f"repository of {name}": partial(_examine_repository, where, settings.base, clock)
            for name, where in repositories.items()
        },
    }
    found = await asyncio.gather(*(_in_time(work) for work in works.values()))
    for about, findings in zip(works, found, strict=True):
        checkup.add(about, *findings)
    checkup.add("repositories", *_shared(repositories))
    return checkup


async def examine_log(settings: BoardSettings, clock: Clock) -> Examination:
    """What the log says of itself; nothing if it offers nothing. Raises as its methods do."""
    log = open_log(settings.log, settings.base)
    try:
        return await log.examine(astuple(settings.topics), clock) if isinstance(log, ExaminableLog) else Examination([])
    finally:
        await log.close()


async def _examine_blobs(settings: BoardSettings, clock: Clock) -> Sequence[Finding]:
    blobs = open_board_blobs(settings)
    try:
        return await blobs.examine(clock) if isinstance(blobs, Examinable) else []
    finally:
        await blobs.close()


async def _examine_repository(where: str, base: Path, clock: Clock) -> Sequence[Finding]:
    repository = open_repository(where, base)
    try:
        return await repository.examine(clock) if isinstance(repository, Examinable) else []
    finally:
        await repository.close()


async def _in_time(work: Callable[[], Awaitable[Sequence[Finding]]]) -> Sequence[Finding]:
    """What the work finds; its failure is a finding too."""
    found: Sequence[Finding] = [problem(f"no answer within {ANSWER_S:.0f} s", "check the server and the network")]
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_S):
            try:
                found = await work()
            except CallboardError as error:
                found = [problem_of(error)]
    return found


def _shared(repositories: Mapping[str, str]) -> list[Finding]:
    """Two subscribers that import to one place keep each other out."""
    owners: dict[str, list[str]] = {}
    for name, where in repositories.items():
        owners.setdefault(where, []).append(name)
    return [
        problem(f"{' and '.join(names)} import to one place", f"set into in [subscribers.{names[-1]}] to another")
        for names in owners.values()
        if len(names) > 1
    ] or [ok(f"{len(repositories)} configured, each in a place of its own")] * bool(repositories)
