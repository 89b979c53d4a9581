"""A subscriber, as the service that embeds it sees it."""

import asyncio
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from callboard.actors.agent import Agent
from callboard.actors.backoff import Backoff
from callboard.actors.hooks import Hook, HookFunction, HookSettings
from callboard.actors.subscriber import SubscriberSettings, roles
from callboard.actors.subscriber.settings import NO_RESEED
from callboard.errors import ConfigError, NotAnswered
from callboard.messages.distribution import DiscoveryMessage
from callboard.messages.mailbox import AnnouncedQuery, CaughtUpQuery, Ready, ReadyQuery, Report, ReportQuery
from callboard.messages.signing import CommandKey

if TYPE_CHECKING:
    from callboard.app.board import Callboard

HOOK_OPTIONS = (*(str(hook) for hook in Hook), "hook_timeout_s", "hook_max_retries")


class SubscriberOptions(TypedDict, total=False):
    """What a subscriber can be told, with the meaning and the defaults of ``SubscriberSettings`` and ``HookSettings``.

    ``stop_drain_s`` is what a running import, or hook, gets to finish when the subscriber is stopped.
    """

    follows: tuple[str, ...]
    editable: bool
    max_retries: int
    on_give_up: Literal["skip", "quarantine", "block"]
    coalesce: bool
    parallel: int
    start: Literal["earliest", "latest"] | int
    on_gap: Literal["fail", "earliest"]
    on_undecodable: Literal["block", "dead_letter"]
    golden: str
    command_keys: tuple[CommandKey, ...]
    skip_commands: tuple[int, ...]
    retry: Backoff
    announce_interval_s: float
    claim_ttl_s: float
    outbox_max: int
    standby: bool
    before_import: HookFunction | str
    after_import: HookFunction | str
    on_invalidate: HookFunction | str
    hook_timeout_s: float
    hook_max_retries: int
    ready_idle_s: float
    ready_max_age_s: float
    ready_force_s: float
    stop_drain_s: float


DRAIN_S = 30.0
"""What a running import gets to finish when the subscriber is stopped."""
FOREVER_S = 1e9
"""A question that is answered when it is time: it ends with the agent at the latest."""


def subscriber_settings(options: SubscriberOptions, **given: Any) -> SubscriberSettings:
    """The settings that these options stand for; the hooks among them, which have an object of their own."""
    name, golden = given["name"], options.get("golden", "")
    if golden == name:
        raise ConfigError(f"subscriber {name!r} cannot wait for its own verdicts; set golden to another one, or none")
    if options.get("on_gap", "fail") not in ("fail", "earliest"):
        raise ConfigError(f"on_gap is {options['on_gap']!r}, but should be 'fail' or 'earliest': {NO_RESEED}")
    plain: dict[str, Any] = dict(options)
    plain.pop("stop_drain_s", None)
    named = {name.removeprefix("hook_"): plain.pop(name) for name in HOOK_OPTIONS if name in plain}
    return SubscriberSettings(**given, **plain, hooks=HookSettings(**named))


class Subscriber:
    """Imports packages into its repository from ``start`` to ``stop``, or inside ``async with``."""

    def __init__(self, board: "Callboard", settings: SubscriberSettings, drain_s: float = DRAIN_S) -> None:
        self.name = settings.name
        self._board = board
        self._settings = settings
        self._drain_s = drain_s
        self._agent: Agent | None = None
        self._starting = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._ready = ""

    async def start(self) -> Agent:
        """Start the agent.

        What stands in its way (the name is taken, the repository is held) is raised by ``caught_up`` and ``ended``.
        """
        async with self._starting:  # several may ask at once
            if self._agent is None:
                self._agent = await self._board.start_subscriber(replace(self._settings, ready_reason=self._ready))
                self._watch = asyncio.create_task(self._watch_readiness(self._agent))
                self._watch.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # for who waits
            return self._agent

    async def stop(self, drain_s: float | None = None) -> None:
        """Finish the running import, for up to ``drain_s`` seconds, say goodbye, and end. Idempotent.

        ``drain_s`` is ``stop_drain_s`` if not given. What is not finished by then is cancelled; a transaction that has
        begun ends one way or the other before the repository is let go.
        """
        if self._agent is not None:
            await self._agent.stop(self._drain_s if drain_s is None else drain_s)
            self._board.forget(self._agent)
            self._agent = None

    async def caught_up(self, timeout_s: float = 60.0) -> None:
        """Wait until every package that is on the log now is processed, and announced to be.

        Raises:
            NotAnswered: it is not, within ``timeout_s`` seconds; ``report`` says why.
            SubscriberTaken: another instance runs under this name.
            RepositoryBusy: another process has the repository.
        """
        agent = await self.start()
        answer = await agent.ask(roles.IMPORTER, CaughtUpQuery(), timeout_s)
        assert isinstance(answer, Report)
        await agent.ask(roles.ANNOUNCER, AnnouncedQuery(offset=answer.announcement.offset), timeout_s)

    async def report(self, timeout_s: float = 10.0) -> DiscoveryMessage:
        """What the subscriber says of itself at this moment. Raises as ``caught_up``."""
        answer = await (await self.start()).ask(roles.IMPORTER, ReportQuery(), timeout_s)
        assert isinstance(answer, Report)
        return answer.announcement

    @property
    def ready(self) -> bool:
        """Whether it may serve. Once it may, that stays so, also when it is stopped and started again."""
        return bool(self._ready)

    async def until_ready(self, timeout_s: float = FOREVER_S) -> str:
        """Wait until it may serve; which condition made it so: idle, latency, retries or forced.

        Raises:
            NotAnswered: it may not yet, after ``timeout_s`` seconds, or was stopped.
            SubscriberTaken: another instance runs under this name.
            RepositoryBusy: another process has the repository.
        """
        await self.start()
        assert self._watch is not None
        done, _ = await asyncio.wait({self._watch}, timeout=timeout_s)
        if not done:
            raise NotAnswered(f"subscriber {self.name!r} is not ready after {timeout_s:g} s; its report says why")
        self._watch.result()
        return self._ready

    async def _watch_readiness(self, agent: Agent) -> None:
        answer = await agent.ask(roles.ANNOUNCER, ReadyQuery(), FOREVER_S)
        assert isinstance(answer, Ready)
        self._ready = answer.reason

    async def ended(self) -> None:
        """Wait until the subscriber has ended. Returns after ``stop``; raises what ended it otherwise."""
        await (await self.start()).ended()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
