"""Makes a relay of two boards."""

import os
import socket
from functools import partial
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from callboard.actors import subscriber
from callboard.actors.core.agent import Agent, AgentSpec, World
from callboard.actors.core.backoff import Backoff
from callboard.actors.runtime import SystemClock
from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.worlds.relay.relay_world import RelayWorld
from callboard.backends.address import shown
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repositories import open_repository
from callboard.board.connect.opening import open_board_blobs, open_board_log, repository_place, subscriber_spool
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.subscriber_options import DRAIN_S, subscriber_settings
from callboard.board.context import BoardContext, new_id
from callboard.board.method import HasContext
from callboard.board.relay.site import SiteOnBoard, open_site
from callboard.board.subscriber import Subscriber
from callboard.content.importing.target import Target
from callboard.door import relays
from callboard.errors import ConfigError
from callboard.version import __version__


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
    board: BoardContext, name: str, to: HasContext, *, ledger: str | Path, **options: Unpack[RelayOptions]
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
    given = relays.options(name, ledger, options)
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
    run = partial(_start, board, site)
    return Subscriber(board, settings, given.get("stop_drain_s", DRAIN_S), expect=given.get("expect", False), run=run)


def _where(settings: BoardSettings) -> tuple[str, Path, str]:
    return settings.log, settings.base, settings.prefix


async def _start(board: BoardContext, site: BoardContext, settings: SubscriberSettings) -> Agent:
    name = f"relay {settings.name}"
    world = partial(open_relay_world, board.settings, site.settings, settings)
    if board.agents.embedded:
        world = partial(_shared_world, board, site, settings)
    return await board.agents.start(AgentSpec(name, subscriber.actors(settings), world))


async def _shared_world(board: BoardContext, site: BoardContext, settings: SubscriberSettings) -> World:
    return _world(board.settings, board.log, board.blobs, SiteOnBoard(site), settings, owned=False)


async def open_relay_world(board: BoardSettings, site: BoardSettings, settings: SubscriberSettings) -> World:
    """The world of a relay's actor in its own process."""
    there = await open_site(site)
    return _world(board, open_board_log(board), open_board_blobs(board), there, settings, owned=True)


def _world(
    board: BoardSettings, log: Log, blobs: BlobStore, site: SiteOnBoard, settings: SubscriberSettings, *, owned: bool
) -> RelayWorld:
    return RelayWorld(
        settings.name,
        log,
        blobs,
        subscriber_spool(settings.name, settings.repository, board.base),
        topics=board.topics,
        ledger=Target(open_repository(settings.repository, board.base)),
        site=site,
        clock=SystemClock(),
        new_id=new_id,
        owned=owned,
    )
