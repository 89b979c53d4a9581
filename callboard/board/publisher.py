"""A publisher, as the embedding service sees it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds
from callboard.board.changed.old_reader import old_reader
from callboard.board.changed.sending import only_changed
from callboard.board.command.same_request import demand_same_request, told_of_id
from callboard.board.connect.user import current_user
from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_publisher, demand_subscribers
from callboard.board.read.log.fillers import demand_own_root, name_of
from callboard.board.read.publisher_log import LogLine, publisher_log
from callboard.board.read.queues.queue_sizes import counted, log_bounds, queue_after
from callboard.board.read.status.status import members
from callboard.board.views import Package
from callboard.content.placed import placed
from callboard.door import requests
from callboard.door.questions import asked
from callboard.errors import LogUnavailable, RefusalCode, RequestRefused
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind
from callboard.telemetry.spans import OUTCOME, Attributes, producing

PUBLISH_TIMEOUT_S = 600.0
"""Seconds for a request, including building a large package."""


class RequestOptions(TypedDict, total=False):
    """Options of every request.

    ``request_id``: makes the request safe to repeat: under one id it is shipped once; up to 200 printable characters.
    ``recipients``: the subscribers that get it; empty means all. ``expect``: accept recipients that are not known yet;
    they get it when they appear. ``user``: on whose behalf, up to 200 characters; the user of this process if not
    given. ``metadata``: travels with the package; up to 1000 texts of up to 10,000 characters, with keys of up to 200.
    ``timeout_s``: seconds, 0 to 1e9.
    """

    request_id: str
    recipients: Iterable[str]
    expect: bool
    user: str
    metadata: Mapping[str, str]
    timeout_s: float


class Publisher:
    """Ships content under one name. Created by ``Callboard.publisher``; its agent starts with the first request."""

    def __init__(self, board: BoardContext, name: str) -> None:
        self.name = name
        self._board = board

    async def start(self) -> Agent:
        """Start the agent now, rather than with the first request."""
        return await self._board.agents.publisher(self.name)

    async def publish(
        self,
        source: str | Path,
        paths: Iterable[str] = ("/",),
        *,
        at: str = "/",
        deep: bool = True,
        full: bool = False,
        source_name: str | None = None,
        replace_root: bool = False,
        **options: Unpack[RequestOptions],
    ) -> Package:
        """Ship the ``paths`` of the folder ``source`` as one package, which subscribers import atomically.

        Of whole trees, only what differs from this publisher's packages on the log is shipped, if these say with
        certainty what subscribers have; the answer says why not in ``whole``.

        Args:
            source: a folder; ``paths`` are absolute inside it, such as ``/blog``.
            paths: what to ship.
            at: where the folder goes at subscribers: with ``/site``, its ``/blog`` becomes ``/site/blog``.
            deep: ship whole trees, which replace what subscribers have there; otherwise only these entries.
            full: ship whole trees whole. Also done for named ``recipients``, of which each may have something else.
            source_name: the folder's name on the log. Set it for a folder that is built in a different place each time.
                Default: its host and path; empty: not distinguished from other sources.
            replace_root: allow the whole folder to replace what another publisher, or source, put there.
            **options: see ``RequestOptions``.

        Returns:
            The package, once it is on the log; its state is ``dropped`` if there was nothing to ship, and ``unchanged``
            if nothing differs.

        Raises:
            RootFilled: another publisher, or another source, filled ``at``.
            RequestRefused: the source or a path cannot be shipped; the message says why.
            LogUnavailable: it could not be appended; repeat it with the same id.
            NotAnswered: it timed out; it may still be shipped, so repeat it with the same id.
        """
        return await self._request(
            Kind.ADD, options, source=source, paths=paths, at=at, deep=deep, full=full, source_name=source_name,
            replace_root=replace_root,
        )  # fmt: skip

    async def delete(
        self, paths: Iterable[str], *, replace_root: bool = False, **options: Unpack[RequestOptions]
    ) -> Package:
        """Remove the paths, and everything below them, at subscribers. Options and errors as for ``publish``."""
        return await self._request(Kind.DELETE, options, paths=paths, replace_root=replace_root)

    async def invalidate(self, paths: Iterable[str], **options: Unpack[RequestOptions]) -> Package:
        """Tell subscribers that the paths changed, in order with packages. Options and errors as for ``publish``."""
        return await self._request(Kind.INVALIDATE, options, paths=paths)

    async def test(self, **options: Unpack[RequestOptions]) -> Package:
        """Append a package that does nothing. Options and errors as for ``publish``."""
        return await self._request(Kind.TEST, options)

    async def packages(self, timeout_s: float = 60.0) -> int:
        """How many packages of this publisher the log holds. Raises ``LogUnavailable``, ``NotAnswered``."""
        asked(timeout_s=timeout_s)
        agent = await self.start()
        bounds = await log_bounds(self._board.log, self._board.topics.package)
        [found] = await counted(agent, [queue_after(-1, bounds, self.name, "")], bounds.end, timeout_s)
        return found.size

    async def log(self, limit: int = 1000) -> list[LogLine]:
        """The newest lines of this publisher's log, oldest first: reports of subscribers, and packages that all have.

        Raises ``LogUnavailable``.
        """
        asked(limit=limit)
        await demand_publisher(self._board.log, self._board.topics, self.name)
        return await publisher_log(self._board.log, self._board.topics, self.name, limit)

    async def _request(self, kind: Kind, options: RequestOptions, **arguments: Any) -> Package:
        given = requests.request(arguments, options)
        with producing("publish", self.name, {"callboard.publisher": self.name, "callboard.kind": kind.name}) as span:
            package = await self._requested(kind, given, span.traceparent)
            told: Attributes = {
                "messaging.message.id": package.id, "callboard.offset": package.offset, OUTCOME: package.state
            }  # fmt: skip
            span.set(told if package.id else {OUTCOME: package.state})
            return package

    async def _requested(self, kind: Kind, given: Mapping[str, Any], traceparent: str) -> Package:
        board = self._board
        at, paths = given.get("at", "/"), given.get("paths", ())
        paths = tuple(placed(path, at) for path in paths)
        folder = board.settings.base / given["source"] if kind is Kind.ADD else None
        source_name = given.get("source_name")
        request = DistributeRequest(
            request_id=given.get("request_id") or board.new_id(),
            kind=kind,
            paths=paths,
            deep_paths=paths if given.get("deep") else (),
            source=str(folder or ""),
            user=given.get("user") or current_user(),
            metadata=given.get("metadata", ()),
            recipients=tuple(sorted(set(given.get("recipients", ())))),
            at=at if at != "/" else "",
            source_name=name_of(folder) if folder and source_name is None else source_name or "",
            traceparent=traceparent,
        )
        agent = await self.start()
        timeout_s = given.get("timeout_s", PUBLISH_TIMEOUT_S)
        to, absent = request.recipients, tuple[str, ...]()
        if to:
            absent = demand_subscribers(await members(agent, "", timeout_s), to, expect=given.get("expect", False))
        for path in given.get("paths", ()) if given.get("deep") else ():
            board.territory.add_source(request.source, path)
        send = partial(
            self._sent, agent, given.get("request_id", ""), replace_root=given.get("replace_root", False),
            timeout_s=timeout_s,
        )  # fmt: skip
        if kind is Kind.ADD:
            old = await old_reader(agent, self.name)
            request = replace(request, compress=board.settings.publishing.compress and not old)
            if given["deep"] and not given["full"] and not to:
                async with board.agents.turn(self.name):
                    return await only_changed(board, self.name, request, old, send)
        return replace(await send(request), expects=absent)

    async def _sent(
        self,
        agent: Agent,
        given_id: str,
        request: DistributeRequest,
        asked_for: DistributeRequest | None = None,
        *,
        replace_root: bool,
        timeout_s: float,
    ) -> Package:
        """Have the request carried out, which may be a part of what was ``asked_for``; ``given_id`` is the user's."""
        board, topic = self._board, self._board.topics.package
        id_given = request.request_id == given_id
        if not replace_root:
            await demand_own_root(board.log, board.blobs, topic, self.name, request)
        before = await log_bounds(board.log, topic) if id_given else Bounds(0, 0)
        answer = await agent.ask(roles.DISTRIBUTOR, request, timeout_s)
        if not answer.accepted and not answer.dropped:
            if answer.retry:
                raise LogUnavailable(answer.reason)
            raise RequestRefused(answer.reason, code=cast("RefusalCode", answer.code or "invalid"))
        note = ""
        if id_given and answer.accepted:
            await demand_same_request(board.log, topic, asked_for or request, answer.offset, part=bool(asked_for))
            note = await told_of_id(board.log, topic, request.request_id, answer.offset, before)
        return Package(
            id=answer.package_id,
            offset=answer.offset,
            kind=request.kind.name,
            publisher=self.name,
            paths=request.paths,
            length=answer.length,
            entries=answer.entries,
            state="dropped" if answer.dropped else "accepted",
            reason=answer.reason,
            throttled_s=answer.throttled_ms / 1000,
            throttled_by=answer.throttled_by,
            note=note,
        )
