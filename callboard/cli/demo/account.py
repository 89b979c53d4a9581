"""What the log itself says about who imported what: lost packages, and packages applied twice."""

from collections import defaultdict
from dataclasses import dataclass

from callboard.app.board import Callboard
from callboard.messages.distribution import Kind, PackageStatusMessage, Status
from callboard.messages.headers import open_record
from callboard.messages.record import Record


@dataclass(frozen=True, slots=True)
class Count:
    """Over all subscribers: packages on the log, packages that someone did not import, imports done twice."""

    packages: int
    lost: int
    twice: int


async def count(board: Callboard, subscribers: list[str]) -> Count:
    """Compare the package topic with the status topic.

    A status has the number that its transaction gave it, so a status sent twice is told from a package imported twice.
    """
    topics = board.settings.topics
    packages = {
        record.offset for record in await _everything(board, topics.package) if record.header("kind") != Kind.TEST.name
    }
    imports: dict[str, dict[int, set[int]]] = {name: defaultdict(set) for name in subscribers}
    for record in await _everything(board, topics.status):
        status = open_record(record, PackageStatusMessage)
        if status.status is Status.IMPORTED and status.subscriber in imports:
            imports[status.subscriber][status.offset].add(status.sequence)
    return Count(
        packages=len(packages),
        lost=sum(len(packages - done.keys()) for done in imports.values()),
        twice=sum(len(numbers) - 1 for done in imports.values() for numbers in done.values()),
    )


async def _everything(board: Callboard, topic: str) -> list[Record]:
    records: list[Record] = []
    start, end = await board.log.bounds(topic)
    while start < end and (batch := await board.log.read(topic, start)):
        records += batch
        start = batch[-1].offset + 1
    return records
