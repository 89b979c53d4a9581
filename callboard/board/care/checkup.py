"""The health check: asks the log, the blob store and the repositories, then looks at the fleet."""

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
from callboard.messages.topics import control_topic

ANSWER_S = 20.0
"""Time for a backend to report: longer than the slowest of them takes to say why it cannot be reached."""


@dataclass(slots=True)
class Checkup:
    """The findings by subject. ``kept`` is the retention that the log's server itself applies, by topic."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    kept: Mapping[str, Retention] = field(default_factory=dict)

    def add(self, about: str, *found: Finding) -> None:
        """Record findings about a subject."""
        self.findings.setdefault(about, []).extend(found)

    def is_well(self, about: str = "") -> bool:
        """Whether nothing needs action, for this subject or for all."""
        looked_at = [self.findings.get(about, [])] if about else list(self.findings.values())
        return all(finding.level is not Level.PROBLEM for found in looked_at for finding in found)

    def is_fine(self) -> bool:
        """Whether there is nothing to do and nothing to advise."""
        return all(finding.level is Level.OK for found in self.findings.values() for finding in found)


async def examine_backends(settings: BoardSettings, repositories: Mapping[str, str], clock: Clock) -> Checkup:
    """Ask the log, the blob store and the repositories, as far as they can report; writes nothing.

    Args:
        settings: the board's.
        repositories: where each configured subscriber imports to, by the subscriber's name.
        clock: this host's.
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
    """What the log reports about itself; nothing if it cannot report. Raises as its methods do."""
    log = open_log(settings.log, settings.base)
    try:
        if not isinstance(log, ExaminableLog):
            return Examination([])
        return await log.examine((*astuple(settings.topics), control_topic(settings.prefix)), clock)
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
    """The findings of ``work``; its failure is a finding too."""
    found: Sequence[Finding] = [problem(f"no answer within {ANSWER_S:.0f} s", "check the server and the network")]
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_S):
            try:
                found = await work()
            except CallboardError as error:
                found = [problem_of(error)]
    return found


def _shared(repositories: Mapping[str, str]) -> list[Finding]:
    """Find subscribers that import into the same place: they lock each other out."""
    owners: dict[str, list[str]] = {}
    for name, where in repositories.items():
        owners.setdefault(where, []).append(name)
    return [
        problem(f"{' and '.join(names)} import to one place", f"set into in [subscribers.{names[-1]}] to another")
        for names in owners.values()
        if len(names) > 1
    ] or [ok(f"{len(repositories)} configured, each in a place of its own")] * bool(repositories)
