"""Makes a relay of two boards."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from callboard.actors.core.agent import Agent
from callboard.actors.core.backoff import Backoff
from callboard.actors.subscriber import SubscriberSettings
from callboard.backends.address import shown
from callboard.board.connect.opening import repository_place
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.subscriber_options import DRAIN_S, subscriber_settings
from callboard.board.context import BoardContext
from callboard.board.subscriber import Subscriber
from callboard.door import subscribers
from callboard.errors import ConfigError
from callboard.version import __version__

if TYPE_CHECKING:
    from callboard.board.board import Callboard


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


def relay(
    board: BoardContext, name: str, to: "Callboard", *, ledger: str | Path, **options: Unpack[RelayOptions]
) -> Subscriber:
    """A relay: a subscriber of this board that appends the packages to the log of another one; not yet started.

    Args:
        board: the open board whose packages are relayed.
        name: of the site, unique on this board. Its subscribers are called ``NAME/SUBSCRIBER`` here.
        to: the open board of the site.
        ledger: where the relay keeps its position: ``sqlite:FILE``, an empty folder, or ``postgresql://...``. Relays of
            one name that stand by for each other may share one; with ledgers of their own, each finds at the site what
            the others appended.
        **options: see ``RelayOptions``.

    Raises:
        ConfigError: wrong options, or both boards have the same log.
    """
    given = subscribers.relay_options(name, ledger, options)
    site = getattr(to, "context", None)
    if not isinstance(site, BoardContext):
        raise ConfigError(f"a relay appends to another board, and `to` is {to!r:.80}; pass an open Callboard")
    place, host, its = given.pop("ledger"), socket.gethostname(), board.settings
    if _where(its) == _where(site.settings):
        raise ConfigError(f"relay {name!r} would append to the log that it reads, {shown(its.log)}; name another one")
    board.territory.add_target(place)
    site.territory.add_target(place)
    settings = subscriber_settings(
        given, topics=its.topics, repository=place, host=host, pid=os.getpid(), version=__version__,
        place=repository_place(place, its.base, host), shortening=its.shortening, signed=bool(its.trusted_keys),
        site=shown(site.settings.log), coalesce=False,
    )  # fmt: skip

    async def run(its: SubscriberSettings) -> Agent:
        from callboard.board.relay.running import start  # which a board without relays does not load

        return await start(board, site, its)

    return Subscriber(board, settings, given.get("stop_drain_s", DRAIN_S), expect=given.get("expect", False), run=run)


def _where(settings: BoardSettings) -> tuple[str, Path, str]:
    return settings.log, settings.base, settings.prefix
