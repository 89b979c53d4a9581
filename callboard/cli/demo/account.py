"""Checks by the log itself what each subscriber imported: lost packages, and packages applied twice."""

from collections import defaultdict
from dataclasses import dataclass, field

from callboard.backends.logs.walk import between
from callboard.backends.repositories.paths import with_parents
from callboard.board.board import Callboard
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    Status,
)
from callboard.messages.headers import open_record
from callboard.messages.record import Record

Paths = frozenset[str]
LEFT_OUT_BY_COMMAND = (Status.REMOVED, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class Count:
    """Totals over all subscribers.

    ``lost``: packages that a subscriber neither imported nor left out by command, nor replaced by a later one that it
    did import. ``twice``: repeated imports. The others explain why fewer were imported than published.
    """

    packages: int
    lost: int
    twice: int
    replaced: int
    left_out_by_command: int


@dataclass(slots=True)
class Account:
    """One subscriber: its last status of each package, by offset, and how many it left out by command."""

    last: dict[int, PackageStatusMessage] = field(default_factory=dict)
    imports: dict[int, set[tuple[str, int]]] = field(default_factory=lambda: defaultdict(set))
    left_out_by_command: int = 0

    def add(self, status: PackageStatusMessage) -> None:
        """Add a status. Its number comes from its transaction, which distinguishes a status sent twice from a package
        imported twice; the highest number wins.
        """
        if status.status is Status.HOOK_FAILED:
            return  # about a step after the import
        known = self.last.get(status.offset)
        if known is None or known.sequence < status.sequence:
            self.last[status.offset] = status
        if status.status is Status.IMPORTED:
            self.imports[status.offset].add((status.subscriber_instance, status.sequence))

    def ended_as(self, offset: int, *statuses: Status) -> bool:
        """Whether the last status of the package is one of these."""
        return offset in self.last and self.last[offset].status in statuses

    def lost(self, packages: dict[int, Paths]) -> int:
        """The number of these packages, given with their paths, that are unaccounted for."""
        left_out = sum(self.ended_as(offset, *LEFT_OUT_BY_COMMAND) for offset in packages)
        unexplained = max(0, left_out - self.left_out_by_command)
        wanting = (offset for offset in packages if not self.ended_as(offset, Status.IMPORTED, *LEFT_OUT_BY_COMMAND))
        return unexplained + sum(not self._replaced(offset, packages) for offset in wanting)

    def _replaced(self, offset: int, packages: dict[int, Paths]) -> bool:
        """Whether it says so, and imported a later package with all the same paths."""
        if not self.ended_as(offset, Status.SUPERSEDED):
            return False
        later = (packages[other] for other in self.imports if other > offset and other in packages)
        return any(all(with_parents([path]) & paths for path in packages[offset]) for paths in later)


async def count(board: Callboard, subscribers: list[str]) -> Count:
    """Compare the package topic with the status topic."""
    topics = board.settings.topics
    packages = {
        record.offset: frozenset(open_record(record, PackageMessage).paths)
        for record in await _everything(board, topics.package)
        if record.header("kind") != Kind.TEST.name
    }
    leaving_out = {
        command.command_id
        for record in await _everything(board, topics.command)
        if (command := open_record(record, CommandMessage)).clear or command.skip
    }
    accounts = {name: Account() for name in subscribers}
    for record in await _everything(board, topics.status):
        said = open_record(record, (PackageStatusMessage, CommandResultMessage))
        if isinstance(said, PackageStatusMessage) and said.subscriber in accounts:
            accounts[said.subscriber].add(said)
        elif isinstance(said, CommandResultMessage) and said.subscriber in accounts and said.accepted:
            accounts[said.subscriber].left_out_by_command += said.packages * (said.command_id in leaving_out)
    return Count(
        packages=len(packages),
        lost=sum(account.lost(packages) for account in accounts.values()),
        twice=sum(len(times) - 1 for account in accounts.values() for times in account.imports.values()),
        replaced=_ended(accounts, packages, Status.SUPERSEDED),
        left_out_by_command=_ended(accounts, packages, *LEFT_OUT_BY_COMMAND),
    )


def _ended(accounts: dict[str, Account], packages: dict[int, Paths], *statuses: Status) -> int:
    return sum(account.ended_as(offset, *statuses) for account in accounts.values() for offset in packages)


async def _everything(board: Callboard, topic: str) -> list[Record]:
    return [record async for record in between(board.log, topic, *await board.log.bounds(topic))]
