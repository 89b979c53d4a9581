"""The life of an importer that a test may end at any time: its decision, driven by hand, and a real repository.

Six packages are on a log in memory. All that it writes, it writes in the thread of its repository.
"""

from collections import deque
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

from callboard.actors.core.decision import (
    Done,
    Failed,
    Input,
    Moment,
    Origin,
    Perform,
    Send,
    Started,
    Stopped,
    Stopping,
)
from callboard.actors.subscriber import SubscriberSettings, roles
from callboard.actors.subscriber.importing.importer import Importer
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.repository import EntryKind, Repository
from callboard.content.ship import build
from callboard.errors import CallboardError
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import (
    Admitted,
    CommandReceived,
    CommandsRead,
    PackagesRead,
    PackagesWanted,
    StatusesPending,
    StatusesSent,
)
from callboard.messages.distribution.topic_messages import CommandMessage, Kind, PackageMessage, SkipCommand
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.testing.drivers.subscriber_example import COMMANDS, NAME, TOPICS
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, Node

SETTINGS = SubscriberSettings(
    name=NAME,
    topics=TOPICS,
    editable=True,
    on_undecodable="dead_letter",
    on_give_up="quarantine",
    max_retries=0,
)
FOLDER, FILE = EntryKind.FOLDER, EntryKind.FILE
CULPRIT = 3


class Scene:
    """A log of six packages. The third is damaged, the fifth has to wait for it, the sixth replaces the first."""

    def __init__(self) -> None:
        self.log = MemoryLog(lambda: 1, lambda: 1)
        self.blobs = MemoryBlobStore(lambda: 1)

    async def prepare(self, spool: Path) -> None:
        for topic in asdict(TOPICS).values():
            await self.log.ensure(topic)
        for number, (path, content) in enumerate(
            [("/a", b"1"), ("/b", b"1"), ("/c/x", b"1"), ("/d", b"1"), ("/c", None), ("/a", b"2")], start=1
        ):
            source = MemoryRepository()
            source.tree["/c"] = Node(FOLDER, 0o755)
            if content is not None:
                source.tree[path] = Node(FILE, 0o644, content)
            shipment = await build(Kind.ADD, source, [path], [], blobs=self.blobs, spool=spool)
            message = PackageMessage(publisher_instance="i", package_id=f"p{number}", kind=Kind.ADD, **asdict(shipment))
            if number == CULPRIT:
                message = replace(message, content_digest="0" * 64)
            record = new_record(message, record_id=f"r{number}", time_ns=1, producer="test")
            assert await self.log.append(TOPICS.package, [record]) == [number]

    async def play(self, repository: Repository, spool: Path) -> Ledger:
        """One life of the importer, to its end or death."""
        world = AgentWorld(self.log, self.blobs, spool, repository=repository)
        importer = Importer(SETTINGS, Random(1))
        inputs: deque[Input] = deque([Started()])
        asked = False
        while True:
            if not inputs:
                ledger = importer._parts.state.ledger
                if ledger.held and not asked:
                    asked = True
                    inputs.append(skip(ledger.instance))
                else:
                    inputs.append(Stopping())
            for effect in importer.receive(inputs.popleft(), Origin(""), Moment(1, 1.0)):
                if isinstance(effect, Stopped):
                    await world.close()
                    return importer._parts.state.ledger
                if isinstance(effect, Perform):
                    inputs.append(await outcome(world, effect))
                elif isinstance(effect, Send):
                    inputs.extend(await self.answers(effect.role, effect.event))

    async def answers(self, role: str, event: Event) -> list[Input]:
        if role == roles.ANNOUNCER:
            return [Admitted()]
        if role == roles.COMMAND_HANDLER:
            return [CommandsRead()]
        if isinstance(event, PackagesWanted):
            records = tuple(await self.log.read(TOPICS.package, event.start, event.max_records))
            end = event.start + len(records)
            found = PackagesRead(log_id=event.log_id, start=event.start, next=end, records=records)
            return [found] if records else []
        if isinstance(event, StatusesPending) and (lines := (*event.statuses, *event.results)):
            return [StatusesSent(sequence=max(line.sequence for line in lines))]
        return []


async def outcome(world: AgentWorld, effect: Perform) -> Done | Failed:
    try:
        return Done(effect, await world.perform(effect))
    except CallboardError as error:
        return Failed(effect, error)


def skip(instance: str) -> CommandReceived:
    order = CommandMessage(
        subscriber_instance=instance, subscriber=NAME, command_id="c", skip=SkipCommand(offset=CULPRIT), author="ann"
    )
    return CommandReceived(log_id=COMMANDS, offset=1, command=order)


async def stored(repository: Repository) -> Ledger:
    """The ledger as a new life finds it."""
    try:
        return codec.decode(Ledger, await repository.open())
    finally:
        await repository.close()
