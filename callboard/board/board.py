"""The board: the composition root, where backends, agents and runtime come together."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack

from callboard.actors.runtime import Runtime
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.board.care import upkeep
from callboard.board.command import clearing, commands, forgetting, resending
from callboard.board.connect.agents import Agents
from callboard.board.connect.configured import add_configured_targets, board_options
from callboard.board.connect.opening import repository_place
from callboard.board.connect.publishing import Publishing
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.subscriber_options import DRAIN_S, SubscriberOptions, subscriber_settings
from callboard.board.connect.territory import Territory
from callboard.board.context import BoardContext
from callboard.board.publisher import Publisher
from callboard.board.read import questions
from callboard.board.read.queues import queues
from callboard.board.subscriber import Subscriber
from callboard.door import boards, subscribers
from callboard.door.rules import instance_of
from callboard.errors import ConfigError
from callboard.messages.signing import SigningKey
from callboard.messages.topics import PREFIX
from callboard.version import __version__

ALREADY_OPEN = "this board is open already; use it as it is, or make another Callboard for the same log"

P = ParamSpec("P")
R = TypeVar("R")


def method(function: Callable[Concatenate[BoardContext, P], R]) -> Callable[Concatenate["Callboard", P], R]:
    """The function as a method of the board, which passes its context; the rest of the signature, and the
    documentation, are the same.
    """

    @wraps(function)
    def call(self: "Callboard", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self.context, *args, **kwargs)

    its = signature(function)
    mine = Parameter("self", Parameter.POSITIONAL_ONLY), *list(its.parameters.values())[1:]
    call.__signature__ = its.replace(parameters=mine)  # type: ignore[attr-defined]  # for people: type checkers know it
    return call


class Callboard:
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
        settings = BoardSettings(
            given["log"], given["blobs"], folder, prefix, given["exclude"], blob_grace_s, publishing, archive,
            given["blobs_for"] or archive, given["include"], given["signing_key"], given["trusted_keys"],
        )  # fmt: skip
        resources = Resources(settings, create=create)
        self.context = BoardContext(resources, Agents(resources, runtime, configure_logging))
        """What its parts share; what has no method here is a function of it."""

    @classmethod
    def on(cls, context: BoardContext) -> Self:
        """The board on a log, agents or a clock of the caller's own."""
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
        """The board that ``callboard.toml`` and the environment say, as the command line opens it; not yet open.

        Args:
            path: the file; else the one that ``CALLBOARD_CONFIG`` names, else ``callboard.toml`` in the current folder,
                if there is one. Relative paths in it start from its folder, all others from the current one.
            environ: the variables, of which those that begin with ``CALLBOARD_`` count.
            create: see ``Callboard``.
            configure_logging: see ``Callboard``.

        Raises:
            ConfigError: a line for each setting that is wrong, or that there is not, with the place where it was set;
                or a key that cannot be read, or a subscriber's target that meets the log, the blobs or the archive.
        """
        from callboard.config import CONFIG_VARIABLE, load

        file = path or environ.get(CONFIG_VARIABLE)
        config = load(Path(file) if file else None, environ).config
        board = cls(
            runtime=config.runtime, create=create, configure_logging=configure_logging, **board_options(config)
        )
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
        await self.context.agents.close()
        await self.context.resources.close()

    async def ensure_topics(self) -> None:
        """Make the topics of this board that the log lacks. What is there stays as it is."""
        await self.context.resources.ensure_topics()

    @property
    def settings(self) -> BoardSettings:
        """What the board is made of."""
        return self.context.settings

    @property
    def territory(self) -> Territory:
        """Which folders are taken."""
        return self.context.territory

    @property
    def blobs(self) -> BlobStore:
        """The open blob store."""
        return self.context.blobs

    @property
    def log(self) -> Log:
        """The open log."""
        return self.context.log

    def publisher(self, name: str = "main") -> Publisher:
        """The publisher of this name."""
        return Publisher(self.context, boards.publisher(name))

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
        self.context.territory.add_target(place)
        return Subscriber(
            self.context,
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

    # What can be asked.

    status = method(questions.status)
    queue = method(queues.queue)
    queue_entry = method(questions.queue_entry)
    farm = method(questions.farm)
    errors = method(queues.errors)
    metrics = method(questions.metrics)
    explain = method(questions.explain)
    events = method(questions.events)

    # What subscribers can be told, and what is said of them.

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

    # What keeps content right, and the log and the blob store short.

    verify = method(upkeep.verify)
    repair = method(upkeep.repair)
    retention_gate = method(upkeep.retention_gate)
    trim = method(upkeep.trim)
    collect_blobs = method(upkeep.collect_blobs)
