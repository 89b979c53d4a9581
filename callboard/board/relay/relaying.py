"""Makes a relay of two boards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from callboard.actors.core.agent import Agent
from callboard.actors.core.backoff import Backoff
from callboard.actors.subscriber import SubscriberSettings
from callboard.backends.address import shown
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.subscriber import Subscriber, settings_on
from callboard.door import subscribers
from callboard.errors import ConfigError


class RelayOptions(TypedDict, total=False):
    """Options of a relay, with the meaning and the defaults of those of a subscriber: see ``SubscriberOptions``.

    ``include`` and ``exclude`` admit packages: one that touches an admitted path is relayed as it is.
    """

    follows: tuple[str, ...]
    expect: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    editable: bool
    max_retries: int
    on_give_up: Literal["skip", "block"]
    parallel: int
    start: Literal["earliest", "latest"] | int
    on_gap: Literal["fail", "earliest"]
    on_undecodable: Literal["block", "dead_letter"]
    skip_commands: tuple[int, ...]
    retry: Backoff
    announce_interval_s: float
    claim_ttl_s: float
    outbox_max: int
    standby: bool
    stop_drain_s: float


def relay(board: BoardContext, name: str, to: object, ledger: str | Path, options: Mapping[str, Any]) -> Subscriber:
    """See ``Callboard.relay``.

    Relays of one name that stand by for each other may share a ledger; with ledgers of their own, each finds at the
    site what the others appended.
    """
    given = subscribers.relay_options(name, ledger, options)
    site = getattr(to, "context", None)
    if not isinstance(site, BoardContext):
        raise ConfigError(f"a relay appends to another board, and `to` is {to!r:.80}; pass an open Callboard")
    if _where(board.settings) == _where(site.settings):
        where = shown(board.settings.log)
        raise ConfigError(f"relay {name!r} would append to the log that it reads, {where}; name another one")
    place = given.pop("ledger")
    file = board.settings.base / place.removeprefix("sqlite:")
    if "://" not in place and not file.parent.is_dir():
        raise ConfigError(f"the folder of the ledger, {file.parent}, does not exist; create it, or name another ledger")
    site.territory.add_target(place)
    settings = settings_on(board, given, place, site=shown(site.settings.log), coalesce=False)

    async def run(its: SubscriberSettings) -> Agent:
        from callboard.board.relay.running import start  # which a board without relays does not load

        return await start(board, site, its)

    return Subscriber(board, settings, given, run)


def _where(settings: BoardSettings) -> tuple[str, Path, str]:
    return settings.log, settings.base, settings.prefix
