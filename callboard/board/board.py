"""The board: the composition root that wires backends, agents and runtime together."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from callboard.actors.runtime import Runtime
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.board import starting
from callboard.board.care import exposing, upkeep
from callboard.board.command import clearing, commands, forgetting, resending
from callboard.board.connect.agents import Agents
from callboard.board.connect.configured import add_configured_targets, board_options
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings, Publishing, SitePlace
from callboard.board.connect.subscriber_options import SubscriberOptions
from callboard.board.connect.territory import Territory
from callboard.board.context import BoardContext
from callboard.board.entities import opening
from callboard.board.member.options import MemberOptions, member_plan
from callboard.board.method import method
from callboard.board.publisher import Publisher
from callboard.board.read import questions
from callboard.board.read.queues import queues
from callboard.board.read.sites.across import across, site_status
from callboard.board.relay import relaying
from callboard.board.relay.relaying import RelayOptions
from callboard.board.subscriber import Subscriber, settings_on
from callboard.door import boards, members, subscribers
from callboard.door.limits import NAMES_MAX
from callboard.door.rules import instance_of, pairs, place, place_or_none, subscriber
from callboard.errors import ConfigError
from callboard.messages.signing import SigningKey
from callboard.messages.topics import PREFIX

if TYPE_CHECKING:  # a board without a part in its cluster does not load them
    from callboard.board.board_events import BoardEvents
    from callboard.board.jobs.board_jobs import BoardJobs
    from callboard.board.member.member import Member
    from callboard.board.topology.topology import Topology

ALREADY_OPEN = "this board is already open; use it, or create another Callboard for the same log"


class Callboard:
    """One log and everything on it: its publishers, its subscribers, and their status.

    An asynchronous context manager. ``callboard.sync.Callboard`` is the same for code without an event loop.

    Args:
        log: the URL of the log, such as ``sqlite:///./board.db`` or ``memory:``.
        blobs: where large content goes; a folder beside the log if not given.
        base: the folder that relative paths start from; the current one if not given.
        runtime: ``embedded`` runs all actors on this event loop, ``processes`` runs each in its own process.
        create: create missing topics; without it, a missing log is an error.
        configure_logging: for ``processes``: called in each process; must be importable.
        prefix: the prefix of all topic names.
        include: patterns of names, or of paths in a source, that publishers ship; default all. See ``PathPatterns``.
        exclude: patterns that publishers leave out.
        signing_key: signs announcements, statuses, commands and events, but not packages.
        trusted_keys: if given, these count only if signed with one of the keys, or with the board's own.
        blob_grace_s: age in seconds at which publishers remove blobs that no record needs; 0 is never.
        publishing: limits, throttling and events of publishers.
        archive: the place of the log's archive, from which subscribers read records that the log no longer has.
        blobs_for: the place of an archive whose blobs survive collection; ``archive`` if not given.
        job_context: names of structlog's context that go with the jobs that are added, such as ``request_id``.
        sites: by the name of its relay, where a site is, to look into what the relay does not tell.
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
        job_context: tuple[str, ...] = (),
        sites: Mapping[str, SitePlace] = MappingProxyType({}),
    ) -> None:
        given = boards.options(
            {
                "log": log, "blobs": blobs, "base": base, "runtime": runtime, "create": create, "prefix": prefix,
                "configure_logging": configure_logging, "include": include, "exclude": exclude,
                "signing_key": signing_key, "trusted_keys": trusted_keys, "blob_grace_s": blob_grace_s,
                "publishing": publishing, "archive": archive, "blobs_for": blobs_for, "job_context": job_context,
                "sites": sites,
            },
            publishing=instance_of(Publishing),
            sites=pairs(subscriber, instance_of(SitePlace, log=place, blobs=place_or_none), NAMES_MAX),
        )  # fmt: skip
        folder, archive = (given["base"] or Path.cwd()).absolute(), given["archive"]
        settings = BoardSettings(
            given["log"], given["blobs"], folder, prefix, given["exclude"], blob_grace_s, publishing, archive,
            given["blobs_for"] or archive, given["include"], given["signing_key"], given["trusted_keys"],
            given["job_context"], dict(given["sites"]),
        )  # fmt: skip
        resources = Resources(settings, create=create)
        self.context = BoardContext(resources, Agents(resources, runtime, configure_logging))
        """The state that all parts share; an operation without a method here is a function of it."""

    @classmethod
    def on(cls, context: BoardContext) -> Self:
        """A board on the caller's own log, agents or clock."""
        board = cls.__new__(cls)
        board.context = context
        return board

    @classmethod
    def from_config(
        cls,
        path: str | Path | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        create: bool = True,
        configure_logging: Callable[[], None] | None = None,
    ) -> Self:
        """The board that ``callboard.toml`` and the environment describe, as the command line opens it; not yet open.

        Args:
            path: the file. Default: the one that ``CALLBOARD_CONFIG`` names, else ``callboard.toml`` in the current
                folder, if it exists. Relative paths in it start from its folder, all others from the current one.
            environ: the variables; only those that begin with ``CALLBOARD_`` are read.
            create: see ``Callboard``.
            configure_logging: see ``Callboard``.

        Raises:
            ConfigError: settings are wrong or unknown (one line for each, with the place where it was set), a key
                cannot be read, or a subscriber's target overlaps the log, the blobs or the archive.
        """
        from callboard.config import CONFIG_VARIABLE, load

        file = path or environ.get(CONFIG_VARIABLE)
        config = load(Path(file) if file else None, environ).config
        board = cls(runtime=config.runtime, create=create, configure_logging=configure_logging, **board_options(config))
        add_configured_targets(board.territory, config)
        return board

    async def __aenter__(self) -> Self:
        if self.context.resources.is_open:
            raise ConfigError(ALREADY_OPEN)
        try:
            await self.context.resources.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop every agent of this board and release its resources, within seconds even if cancelled. Idempotent."""
        closing = asyncio.create_task(self._close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait({closing})
            raise

    async def _close(self) -> None:
        await self.context.close()

    async def ensure_topics(self) -> None:
        """Create the topics that the log lacks. Existing ones stay as they are."""
        await self.context.resources.ensure_topics()

    @property
    def settings(self) -> BoardSettings:
        """The board's settings."""
        return self.context.settings

    @property
    def territory(self) -> Territory:
        """The folders that are in use."""
        return self.context.territory

    @property
    def blobs(self) -> BlobStore:
        """The open blob store."""
        return self.context.blobs

    @property
    def topology(self) -> "Topology":
        """The cluster on this log: its members, its history, and commands to it."""
        from callboard.board.topology.topology import Topology

        return Topology(self.context)

    @property
    def log(self) -> Log:
        """The open log."""
        return self.context.log

    def publisher(self, name: str = "main") -> Publisher:
        """The publisher of this name."""
        return Publisher(self.context, boards.publisher(name))

    def subscriber(self, name: str, into: str | Path, **options: Unpack[SubscriberOptions]) -> Subscriber:
        """A subscriber that imports into the repository ``into``; not yet started.

        Args:
            name: unique on the board.
            into: a folder, or ``sqlite:FILE``. If it holds anything that no subscriber imported, the start is refused,
                unless ``on_occupied`` is ``adopt`` (keep what packages do not touch) or ``replace`` (remove it).
            **options: see ``SubscriberOptions``.

        Raises:
            ConfigError: wrong options; or ``into`` overlaps the log, the blobs, the archive or what this board ships.
        """
        given = subscribers.options(name, into, options)
        settings = settings_on(self.context, given, given.pop("into"))
        return Subscriber(self.context, settings, given)

    def relay(self, name: str, to: "Callboard", *, ledger: str | Path, **options: Unpack[RelayOptions]) -> Subscriber:
        """A relay, which appends the packages of this board to the log of another one; not yet started.

        Args:
            name: of the site, unique on this board. Its subscribers are called ``NAME/SUBSCRIBER`` here.
            to: the open board of the site.
            ledger: keeps the relay's position: ``sqlite:FILE``, an empty folder, or ``postgresql://...``.
            **options: see ``RelayOptions``.

        Raises:
            ConfigError: wrong options, or both boards have the same log.
        """
        return relaying.relay(self.context, name, to, ledger, options)

    def member(self, **options: Unpack[MemberOptions]) -> "Member":
        """This process as a member of the cluster on this log; not yet started. Raises ``ConfigError``."""
        from callboard.board.member.member import Member

        return Member(self.context, member_plan(members.options(options), self.context))

    @property
    def jobs(self) -> "BoardJobs":
        """The jobs on this log, and workers that run them."""
        from callboard.board.jobs.board_jobs import BoardJobs

        return BoardJobs(self.context)

    @property
    def events(self) -> "BoardEvents":
        """The events on this log. Called, as ``board.events()``, it follows what becomes of packages."""
        from callboard.board.board_events import BoardEvents

        return BoardEvents(self.context)

    start = method(starting.start)
    entities = method(opening.entities)
    projection = method(opening.projection)
    reaction = method(opening.reaction)
    status = method(questions.status)
    site_status = method(site_status)
    queue = method(across(queues.queue))
    queue_entry = method(questions.queue_entry)
    cohorts = method(questions.cohorts)
    folds = method(exposing.folds)
    replay = method(exposing.replay)
    errors = method(across(queues.errors))
    metrics = method(exposing.metrics)
    explain = method(across(questions.explain))

    clear = method(clearing.clear)
    clear_all = method(clearing.clear_all)
    retry = method(commands.retry)
    skip = method(commands.skip)
    pause = method(commands.pause)
    resume = method(commands.resume)
    throttle = method(commands.throttle)
    list_content = method(commands.list_content)
    forget_subscriber = method(forgetting.forget_subscriber)
    resend = method(resending.resend)

    # Maintenance: content, log and blob store.

    verify = method(upkeep.verify)
    repair = method(upkeep.repair)
    retention_gate = method(upkeep.retention_gate)
    trim = method(upkeep.trim)
    collect_blobs = method(upkeep.collect_blobs)
