"""The board of a site, opened to look into what its relay does not tell. Only places that are configured are opened:
what is said on a log is no reason to connect anywhere.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shlex import quote

from callboard.actors.worlds.relay.offsets import Offsets
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.read.sites.report import site_status
from callboard.board.read.status.status import members, relay_of
from callboard.board.site_status import SiteStatus, SiteSubscriber
from callboard.errors import (
    BlobError,
    BlobUnavailable,
    LogError,
    LogUnavailable,
    NotAnswered,
    OffsetOutOfRange,
    RequestRefused,
)
from callboard.messages.distribution.fleet_mail import Member
from callboard.messages.headers import SEPARATOR
from callboard.messages.relayed import origin_of
from callboard.units import age

OPEN_S = 5.0
"""How long a site's log may take to be opened: the relay's word is there at once."""

SILENT = (LogUnavailable, BlobUnavailable, NotAnswered, TimeoutError)
AWAY = (*SILENT, LogError, BlobError)
"""Why a site's log may not be read; the first of these may pass by themselves."""


@dataclass(frozen=True, slots=True)
class AtSite:
    """A subscriber of a site: ``name`` there, ``full_name`` here. Without a ``board``, ``why`` says why the site's log
    is not read.
    """

    full_name: str
    name: str
    relay: Member
    status: SiteStatus
    here: BoardContext
    log_id: str
    board: BoardContext | None = None
    why: str = ""

    def away(self, error: Exception) -> "AtSite":
        """The same, now that the site's log cannot be read."""
        silent = f"the site's log does not answer ({str(error) or 'in time'}); try again later"
        return replace(
            self, board=None, why=silent if isinstance(error, SILENT) else f"the site's log cannot be read: {error}"
        )

    @property
    def told(self) -> SiteSubscriber | None:
        """What the relay tells of it."""
        return next((row for row in self.status.rows if row.name == self.full_name), None)

    @contextmanager
    def naming_site(self) -> Iterator[None]:
        """Errors about names at the site say so: ``unknown_name`` is about names on its log."""
        try:
            yield
        except RequestRefused as error:
            if error.code != "unknown_name":
                raise
            raise RequestRefused(
                f"at site {self.relay.announcement.subscriber}: {error}", code="unknown_name"
            ) from None

    def unknown(self, what: str, command: str) -> str:
        """The message that only the site's log knows this: why it is not read, and which command to run there."""
        done = f"run `callboard {command.format(quote(self.name))}` there"
        return f"{what} is only on the site's log; {self.why}, or {done}"

    @property
    def when(self) -> str:
        """When the relay said what it tells."""
        return f"as of {age(self.status.age_s)} ago" if self.status.age_s >= 0 else "and it has told nothing yet"

    @property
    def not_told(self) -> RequestRefused:
        """The error for one that the relay does not name."""
        site = self.status
        what = f"the relay names {len(site.rows)} of the {site.subscribers} subscribers of {site.name}"
        message = f"nothing is known here of {self.full_name}: {what}, and not this one, {self.when}"
        return RequestRefused(f"{message}; {self.why}", code="at_site")

    async def origins(self, offsets: Iterable[int]) -> dict[int, int]:
        """The offsets on the log here of packages at these offsets of the site's log; without those of other origin."""
        assert self.board is not None
        log, topic = self.board.log, self.board.topics.package
        left, found = sorted(set(offsets)), dict[int, int]()
        while left:
            try:
                records = await log.read(topic, left[0])
            except OffsetOutOfRange as error:
                records, left = [], [each for each in left if each >= error.first > left[0]]
                continue
            for record in records:
                came = origin_of(record)
                for log_id, at in came.path if came else ():
                    if log_id == self.log_id:
                        found[record.offset] = at
            left = [each for each in left if records and each > records[-1].offset]
        return found

    async def position(self, offset: int) -> int:
        """The last offset here that a subscriber at this offset of the site's log has processed."""
        assert self.board is not None
        said = self.relay.announcement
        offsets = Offsets(self.board.log, self.board.topics.package, said.subscriber, self.log_id)
        return await offsets.processed(offset, otherwise=self.status.relayed)


async def find_at_site(board: BoardContext, subscriber: str, timeout_s: float) -> AtSite:
    """The subscriber ``SITE/SUBSCRIBER``, with the board of its site if that can be read.

    Raises ``RequestRefused`` if there is no such site, and if its configured log is not the one that the relay names.
    """
    log_id = await log_identity(board.log, board.topics.package)
    relay = relay_of(await members(await board.viewer(), log_id, timeout_s), subscriber)
    status = site_status(relay, -1, board.now_ns())
    assert status is not None
    site, _, name = subscriber.partition(SEPARATOR)
    found = AtSite(subscriber, name, relay, status, board, log_id)
    place = board.settings.sites.get(site)
    if place is None:
        return replace(found, why=f"set `to` in [relays.{site}] (in a service: `sites`)")
    try:
        there = await asyncio.wait_for(_opened(board, site), min(timeout_s, OPEN_S))
        its_id = await asyncio.wait_for(there.log.identity(there.topics.package), min(timeout_s, OPEN_S))
    except AWAY as error:
        return found.away(error)
    if not status.log_id:
        return replace(found, why="its relay has not said yet which one it is; try again later")
    if its_id != status.log_id:
        raise RequestRefused(
            f"the configured log of site {site} is {its_id[:8]}, and its relay appends to {status.log_id[:8]}; correct "
            f"`to` in [relays.{site}]",
            code="mismatch",
        )
    return replace(found, board=there)


async def _opened(board: BoardContext, site: str) -> BoardContext:
    if (task := board.sites.get(site)) is None:
        settings, place, prefix = board.settings, board.settings.sites[site], site + SEPARATOR
        further = {name.removeprefix(prefix): its for name, its in settings.sites.items() if name.startswith(prefix)}
        its_settings = replace(settings, log=place.log, blobs=place.blobs, archive="", blobs_for="", sites=further)
        task = board.sites[site] = asyncio.create_task(_open(its_settings))
    try:
        return await asyncio.shield(task)
    finally:
        if task.done() and (task.cancelled() or task.exception()) and board.sites.get(site) is task:
            del board.sites[site]


async def _open(settings: BoardSettings) -> BoardContext:
    resources = Resources(settings, create=False)
    try:
        await resources.open()
    except BaseException:
        await resources.close()
        raise
    return BoardContext(resources, Agents(resources))
