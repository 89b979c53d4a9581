"""The board: the composition root, where backends, agents and runtime come together."""

import asyncio
import os
import secrets
import socket
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from callboard import __version__
from callboard.actors import publisher, subscriber
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.publisher import PublisherSettings
from callboard.actors.runtime import Runtime, start_agent
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Capability, Log
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.board.care.content_care import ContentCare
from callboard.board.command.commanding import Commanding
from callboard.board.connect.opening import (
    open_board_blobs,
    open_board_log,
    open_publisher_world,
    open_subscriber_world,
    records_for_blobs,
    repository_place,
    subscriber_world,
)
from callboard.board.connect.publisher_agent import PublisherAgent
from callboard.board.connect.publishing import Publishing
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.territory import Territory
from callboard.board.connect.user import current_user
from callboard.board.publisher import Publisher
from callboard.board.read.known_names import demand_publisher
from callboard.board.read.log.ignored import look, told
from callboard.board.read.queues import queues
from callboard.board.read.status.status import board_status, member, members
from callboard.board.subscriber import DRAIN_S, Subscriber, SubscriberOptions, subscriber_settings
from callboard.board.views import BoardStatus, ErrorsView, PublisherStatus, QueueView
from callboard.door import boards, subscribers
from callboard.door.questions import asked
from callboard.door.rules import instance_of
from callboard.errors import ConfigError
from callboard.messages.signing import SigningKey
from callboard.messages.topics import PREFIX

if TYPE_CHECKING:  # what a board that is only looked at does not need is imported where it is used
    from callboard.board.read.events import BoardEvent

VIEWER = "/viewer"
"""The name of the publisher agent that only looks and never publishes; no publisher can be called so."""
ALREADY_OPEN = "this board is open already; use it as it is, or make another Callboard for the same log"
CLOSE_DRAIN_S = 10.0
ANSWER_S = 30.0
"""How long a question about the board may take."""


class Callboard(Commanding, ContentCare):
    """One log with everything on it: its publishers, its subscribers, and what can be said about them.

    An asynchronous context manager. ``callboard.sync.Callboard`` is the same for code without an event loop.

    Args:
        log: the URL of the log, such as ``sqlite:///./board.db`` or ``memory:``.
        blobs: where large content goes; a folder beside the log if not given.
        base: the folder that relative paths start from; the current one if not given.
        runtime: ``embedded`` runs all actors on this event loop, ``processes`` each in a process of its own.
        create: make the log's topics if they are missing; otherwise a missing log is an error.
        configure_logging: for ``processes``, called in each of them; a function that can be imported.
        prefix: what the topics' names begin with.
        include: patterns of names, or of paths in a source, that publishers ship; all if empty. See ``PathPatterns``.
        exclude: patterns that they leave out.
        signing_key: signs what is said on the board: announcements, statuses, commands and events, but no packages.
        trusted_keys: only what is signed with one of these counts, the own among them; all counts if there are none.
        blob_grace_s: publishers remove blobs that no record needs and that were put so long ago; 0 is never.
        publishing: how publishers ship, and what they tell of it.
        archive: the place of the log's archive, from which subscribers read what the log has no more.
        blobs_for: the place of an archive whose blobs are kept when others are collected; ``archive`` if not given.
    """

    def __init__(
        self,
        log: str = "sqlite:///./board.db",
        *,
        blobs: str = "",
        base: Path | None = None,
        runtime: Runtime = "embedded",
        create: bool = True,
        configure_logging: Callable[[], None] | None = None,
        prefix: str = PREFIX,
        include: tuple[str, ...] = (),
        exclude: tuple[str, ...] = EXCLUDED,
        signing_key: SigningKey | None = None,
        trusted_keys: tuple[SigningKey, ...] = (),
        blob_grace_s: float = 0.0,
        publishing: Publishing = Publishing(),  # noqa: B008 - frozen
        archive: str = "",
        blobs_for: str = "",
    ) -> None:
        given = boards.options(
            {
                "log": log, "blobs": blobs, "base": base, "runtime": runtime, "create": create, "prefix": prefix,
                "configure_logging": configure_logging, "include": include, "exclude": exclude,
                "signing_key": signing_key, "trusted_keys": trusted_keys, "blob_grace_s": blob_grace_s,
                "publishing": publishing, "archive": archive, "blobs_for": blobs_for,
            },
            publishing=instance_of(Publishing),
        )  # fmt: skip
        folder, archive = (given["base"] or Path.cwd()).absolute(), given["archive"]
        self.settings = BoardSettings(
            given["log"], given["blobs"], folder, prefix, given["exclude"], blob_grace_s, publishing, archive,
            given["blobs_for"] or archive, given["include"], given["signing_key"], given["trusted_keys"],
        )  # fmt: skip
        self.territory = Territory(self.settings)
        """Which folders are taken, so that no subscriber imports over the log, the blob store or a source."""
        self._runtime: Runtime = runtime
        self._create = create
        self._configure_logging = configure_logging
        self._log: Log | None = None
        self._blobs: BlobStore | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._instance = secrets.token_hex(16)
        self._publishers: dict[str, asyncio.Task[Agent]] = {}
        self._agents: list[Agent] = []
        if runtime == "processes" and self.settings.log.startswith("memory:"):
            raise ConfigError("a log in memory cannot be shared by processes; use sqlite:///./board.db")

    async def __aenter__(self) -> Self:
        if self._log is not None:
            raise ConfigError(ALREADY_OPEN)
        if self.settings.log.startswith("memory:") and not self.settings.blobs:
            self._temporary = tempfile.TemporaryDirectory(prefix="callboard-blobs-")
            self.settings = replace(self.settings, blobs=self._temporary.name)
        self._log = open_board_log(self.settings)
        try:
            self._blobs = open_board_blobs(self.settings)
            if self._create:
                await self.ensure_topics()
            else:
                await self._log.bounds(self.settings.topics.package)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop every agent of this board and release what it holds. Idempotent. If it is cancelled, it first finishes
        what it has begun, which takes some seconds at most: otherwise nobody would ever release that.
        """
        closing = asyncio.create_task(self._close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait({closing})
            raise

    async def _close(self) -> None:
        for starting in self._publishers.values():
            starting.cancel()
        await asyncio.gather(*self._publishers.values(), return_exceptions=True)
        await asyncio.gather(*(agent.stop(CLOSE_DRAIN_S) for agent in self._agents))
        self._agents.clear()
        self._publishers.clear()
        async with AsyncExitStack() as stack:  # whatever cannot be closed, the rest is
            if self._temporary is not None:
                stack.callback(self._temporary.cleanup)
                self._temporary, self.settings = None, replace(self.settings, blobs="")
            for resource in (self._blobs, self._log):
                if resource is not None:
                    stack.push_async_callback(resource.close)
            self._log = self._blobs = None

    async def ensure_topics(self) -> None:
        """Make the topics of this board that the log lacks. What is there stays as it is."""
        topics = self.settings.topics
        for topic in (topics.package, topics.status, topics.discovery, topics.command, topics.event):
            await self.log.ensure(topic)

    @property
    def blobs(self) -> BlobStore:
        """The open blob store."""
        if self._blobs is None:
            raise ConfigError("the board is not open; use it inside `async with Callboard(...) as board:`")
        return self._blobs

    @property
    def log(self) -> Log:
        """The open log."""
        if self._log is None:
            raise ConfigError("the board is not open; use it inside `async with Callboard(...) as board:`")
        return self._log

    # Publishers.

    def publisher(self, name: str = "main") -> Publisher:
        """The publisher of this name."""
        return Publisher(self, boards.publisher(name))

    async def publisher_agent(self, name: str) -> Agent:
        """The agent of a publisher, started once, and again when that failed or the agent has ended."""
        starting = self._publishers.get(name)
        if starting is None or _is_over(starting):
            starting = self._publishers[name] = asyncio.create_task(self._start_publisher(name))
        return await asyncio.shield(starting)  # for everyone who waits for it, so not cancelled with one of them

    async def viewer(self) -> Agent:
        """An agent that can be asked about the board: any publisher's will do."""
        return await self.publisher_agent(next(iter(self._publishers), VIEWER))

    async def _start_publisher(self, name: str) -> Agent:
        publishing = self.settings.publishing
        settings = PublisherSettings(
            name=name,
            instance=self._instance,
            topics=self.settings.topics,
            keys=Capability.KEYS in self.log.capabilities,
            throttle=publishing.throttle,
            events=() if name == VIEWER else tuple(publishing.events),
            blob_grace_s=self.settings.blob_grace_s,
            shortening=None if name == VIEWER else self.settings.shortening,
        )
        world = partial(open_publisher_world, self.settings)
        agent = await self._start(AgentSpec(f"publisher {name}", publisher.actors(settings), world), None)
        topics = self.settings.topics
        return PublisherAgent(agent, self.log, (topics.package, topics.discovery, topics.status))

    # Subscribers.

    def subscriber(self, name: str, into: str | Path, **options: Unpack[SubscriberOptions]) -> Subscriber:
        """A subscriber that imports into the repository ``into``, not yet started.

        Args:
            name: unique on the board.
            into: a folder, or ``sqlite:FILE``. One that holds anything but what a subscriber imported is refused at the
                start, unless ``on_occupied`` is ``adopt`` (keep what packages do not touch) or ``replace`` (remove it).
            **options: see ``SubscriberOptions``.

        Raises:
            ConfigError: wrong options; or ``into`` is, contains or lies in the log, the blob store, the archive or a
                folder that this board ships from.
        """
        host = socket.gethostname()
        given = subscribers.options(name, into, options)
        place = given.pop("into")
        self.territory.add_target(place)
        return Subscriber(
            self,
            subscriber_settings(
                given,
                topics=self.settings.topics,
                repository=place,
                host=host,
                pid=os.getpid(),
                version=__version__,
                place=repository_place(place, self.settings.base, host),
                shortening=self.settings.shortening,
                signed=bool(self.settings.trusted_keys),
            ),
            given.get("stop_drain_s", DRAIN_S),
            expect=given.get("expect", False),
        )

    async def start_subscriber(self, settings: SubscriberSettings) -> Agent:
        """Start the agent of a subscriber; see ``Subscriber.start``."""
        from callboard.board.connect.hooks import check as check_hooks

        check_hooks(settings.hooks, self.settings.base, processes=self._runtime == "processes")
        world = partial(open_subscriber_world, self.settings, settings)
        spec = AgentSpec(f"subscriber {settings.name}", subscriber.actors(settings), world)
        return await self._start(spec, settings)

    def forget(self, agent: Agent) -> None:
        """The agent has been stopped."""
        if agent in self._agents:
            self._agents.remove(agent)

    async def _start(self, spec: AgentSpec, settings: SubscriberSettings | None) -> Agent:
        if self._runtime == "embedded":
            spec = replace(spec, world=partial(self._shared_world, settings))
        agent = await start_agent(spec, self._runtime, configure_logging=self._configure_logging)
        self._agents = [*(other for other in self._agents if not other.has_ended), agent]
        return agent

    async def _shared_world(self, settings: SubscriberSettings | None) -> World:
        """Embedded agents share the board's log and blob store."""
        assert self._blobs is not None
        if settings is None:
            return AgentWorld(
                self.log,
                self._blobs,
                Path(tempfile.gettempdir()),
                patterns=self.settings.patterns,
                max_package_bytes=self.settings.publishing.max_package_bytes,
                archived=records_for_blobs(self.settings, self.log),
            )
        return subscriber_world(self.log, self._blobs, self.settings.base, settings)

    # Events.

    def events(
        self, publisher: str = "", kinds: Iterable[str] = (), after: int | None = None, *, follow: bool = True
    ) -> "AsyncGenerator[BoardEvent, None]":
        """What becomes of packages, from whatever process it is told; until the board closes, or with ``follow`` false
        until the end of what there is.

        Args:
            publisher: of this one's packages; of all if not given.
            kinds: created, queued, distributed, imported, failed; all if not given. Only what ``Publishing.events``
                names is written.
            after: the ``position`` of the last event that was seen; -1 begins at the oldest. Without it begins with
                what comes from now on, or if nothing is waited for, some way back from the newest.
            follow: whether to wait for more at the end.

        Yields:
            Each event once, as far as the last ten thousand are concerned; see its ``key``.

        Raises:
            RequestRefused: nobody has heard of the publisher, and nothing is waited for.
            OffsetOutOfRange: what comes after ``after`` was removed from the log.
            LogReplaced: the positions belong to another log.
        """
        from callboard.board.read import events

        wanted = frozenset(asked(publisher=publisher, kinds=kinds, after=after, follow=follow)["kinds"])
        log, topics = self.log, self.settings.topics
        return events.events(
            log, topics, publisher, wanted, after, follow=follow, closed=lambda: self._log is not log
        )

    # Questions and orders. Reading never writes, and never holds anybody up.

    async def status(self, timeout_s: float = ANSWER_S) -> BoardStatus:
        """Every subscriber ever heard of: what it does, how far behind it is, and why."""
        asked(timeout_s=timeout_s)
        topic = self.settings.topics.package
        status = await board_status(await self.viewer(), self.log, topic, time.time_ns(), timeout_s)
        return replace(status, notes=(*status.notes, *told(await look(self.log, self.settings.topics))))

    async def queue(
        self, subscriber: str, publisher: str = "", *, skip: int = 0, limit: int = 100, timeout_s: float = ANSWER_S
    ) -> QueueView:
        """A page of what the subscriber has not processed yet, of one publisher or of all that it follows.

        Raises:
            RequestRefused: the subscriber was never heard of, or does not follow the publisher.
            LogUnavailable: the log cannot be read.
        """
        asked(subscriber=subscriber, publisher=publisher, skip=skip, limit=limit, timeout_s=timeout_s)
        await demand_publisher(self.log, self.settings.topics, publisher)
        agent = await self.viewer()
        topic = self.settings.topics.package
        return await queues.queue(
            agent, self.log, topic, subscriber, publisher, skip, limit, time.time_ns(), timeout_s
        )

    async def metrics(self, timeout_s: float = ANSWER_S) -> str:
        """The status as figures, in the text format of Prometheus."""
        from callboard.board.read.status import metrics

        status = await self.status(timeout_s)
        announced = [each.announcement for each in await members(await self.viewer(), "", timeout_s)]
        topics = self.settings.topics
        names = (topics.package, topics.status, topics.discovery, topics.command)
        bounds = {name: await self.log.bounds(name) for name in names}
        counted = {
            name: await metrics.counters(await self.publisher_agent(name), timeout_s)
            for name in list(self._publishers)  # meanwhile another may be started
            if name != VIEWER
        }
        return metrics.exposition(status, bounds, counted, announced, await look(self.log, self.settings.topics))

    async def queue_entry(self, entry: str) -> dict[str, Any]:
        """The package with this id in any queue, such as ``callboard.package@17``: headers, message, and what is in it.

        Raises:
            RequestRefused: the id is not one of this board's packages.
            OffsetOutOfRange: the log does not have the package, or no longer.
        """
        from callboard.board.read.log.log_records import record_data

        asked(entry=entry)
        topic = self.settings.topics.package
        offset = queues.entry_offset(topic, entry)
        log = self.log
        assert self._blobs is not None
        with tempfile.TemporaryDirectory(prefix="callboard-entry-") as spool:
            return await record_data(log, self._blobs, topic, offset, Path(spool))

    async def farm(self, publisher: str = "", *, timeout_s: float = ANSWER_S) -> tuple[PublisherStatus, ...]:
        """How far the slowest subscribers are: of this publisher, or of each."""
        asked(publisher=publisher)
        await demand_publisher(self.log, self.settings.topics, publisher)
        known = (await self.status(timeout_s)).publishers
        return tuple(each for each in known if publisher in ("", each.name))

    async def errors(
        self, subscriber: str = "", publisher: str = "", *, skip: int = 0, limit: int = 100, timeout_s: float = ANSWER_S
    ) -> ErrorsView:
        """A page of the packages that subscribers gave up on; of all subscribers and publishers if none is given."""
        asked(publisher=publisher, skip=skip, limit=limit, timeout_s=timeout_s)
        if subscriber != "":
            asked(subscriber=subscriber)
        await demand_publisher(self.log, self.settings.topics, publisher)
        agent = await self.viewer()
        if subscriber:
            await member(agent, subscriber, "", timeout_s)
        topic = self.settings.topics.package
        first = (await self.log.bounds(topic)).first
        return await queues.errors(
            agent, topic, first, subscriber, publisher, skip, limit, time.time_ns(), timeout_s
        )

    async def forget_subscriber(
        self,
        subscriber: str,
        *,
        reason: str = "",
        author: str = "",
        force: bool = False,
        timeout_s: float = ANSWER_S,
    ) -> None:
        """Take a subscriber that never comes back out of every view, and let others have its name. Its next
        announcement undoes that. Until a day later a gated trim keeps what it has not processed.

        Args:
            subscriber: it must not be live.
            reason: for the record.
            author: for the record; the user of this process if not given.
            force: also one that is live, or that was never heard of: somebody else may speak under its name.
            timeout_s: how long to wait for an answer.

        Raises:
            RequestRefused: no such subscriber, or one that is live.
            LogUnavailable: it could not be appended.
        """
        from callboard.board.command import forgetting

        asked(subscriber=subscriber, reason=reason, author=author, force=force, timeout_s=timeout_s)
        await forgetting.forget(
            await self.viewer(),
            self.log,
            self.settings.topics.discovery,
            subscriber,
            reason=reason,
            author=author or current_user(),
            force=force,
            now_ns=time.time_ns(),
            timeout_s=timeout_s,
        )


def _is_over(starting: asyncio.Task[Agent]) -> bool:
    """Whether the start came to nothing, or what was started has ended."""
    return starting.done() and (
        starting.cancelled() or starting.exception() is not None or starting.result().has_ended
    )
