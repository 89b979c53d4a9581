"""A publisher, as the service that embeds it sees it."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from callboard.actors.agent import Agent
from callboard.actors.publisher import roles
from callboard.app.publisher_log import LogLine, publisher_log
from callboard.app.status import log_end
from callboard.app.user import current_user
from callboard.app.views import Package
from callboard.errors import LogUnavailable, RequestRefused
from callboard.messages.distribution import Kind
from callboard.messages.mailbox import DistributeRequest, DistributeResponse, QueueSize, Sizes, SizesQuery

if TYPE_CHECKING:
    from callboard.app.board import Callboard

PUBLISH_TIMEOUT_S = 600.0
"""What a request may take, the building of a large package included."""


class RequestOptions(TypedDict, total=False):
    """What every request can say.

    ``request_id``: repeat a request under its id and it is shipped once. ``recipients``: only these subscribers get it;
    none named means all. ``user``: on whose behalf; the user of this process if not given. ``metadata``: travels with
    the package. ``timeout_s``: seconds.
    """

    request_id: str
    recipients: Iterable[str]
    user: str
    metadata: Mapping[str, str]
    timeout_s: float


class Publisher:
    """Ships content under one name. Got from ``Callboard.publisher``; its agent starts with the first request."""

    def __init__(self, board: "Callboard", name: str) -> None:
        self.name = name
        self._board = board

    async def start(self) -> Agent:
        """Start the agent, which otherwise the first request does."""
        return await self._board.publisher_agent(self.name)

    async def publish(
        self,
        source: str | Path,
        paths: Iterable[str] = ("/",),
        *,
        deep: bool = True,
        **options: Unpack[RequestOptions],
    ) -> Package:
        """Ship what is at ``paths`` of the folder ``source`` as one package, which is imported as a whole.

        Args:
            source: a folder; ``paths`` are absolute inside it, such as ``/blog``.
            paths: what to ship.
            deep: whole trees, replacing what subscribers have there; otherwise just these entries.
            **options: see ``RequestOptions``.

        Returns:
            The package, once it is on the log, or with the state ``dropped`` if there was nothing in the folder.

        Raises:
            RequestRefused: the source or a path cannot be shipped; the message says why.
            LogUnavailable: it could not be appended; repeat it with its id.
            NotAnswered: it took longer than the timeout; it may still be shipped, so repeat it with its id.
        """
        paths = tuple(paths)
        folder = str(self._board.settings.base / source)
        return await self._request(Kind.ADD, paths, paths if deep else (), folder, options)

    async def delete(self, paths: Iterable[str], **options: Unpack[RequestOptions]) -> Package:
        """Have the paths, and everything below them, removed. Options and errors as for ``publish``."""
        return await self._request(Kind.DELETE, tuple(paths), (), "", options)

    async def invalidate(self, paths: Iterable[str], **options: Unpack[RequestOptions]) -> Package:
        """Tell subscribers that the paths changed, in order with content. Options and errors as for ``publish``."""
        return await self._request(Kind.INVALIDATE, tuple(paths), (), "", options)

    async def test(self, **options: Unpack[RequestOptions]) -> Package:
        """Append a package that does nothing. Options and errors as for ``publish``."""
        return await self._request(Kind.TEST, (), (), "", options)

    async def packages(self, timeout_s: float = 60.0) -> int:
        """How many packages of this publisher the log holds. Raises ``LogUnavailable``, ``NotAnswered``."""
        agent = await self.start()
        end = await log_end(self._board.log, self._board.settings.topics.package)
        question = SizesQuery(queues=(QueueSize(publisher=self.name, after=-1),), end=end)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:  # each answer comes within a second, whether they are counted by then or not
            sizes = await agent.ask(roles.QUEUE_CACHE, question, deadline - loop.time())
            assert isinstance(sizes, Sizes)
            if sizes.problem:
                raise LogUnavailable(sizes.problem)
            if not sizes.queues[0].uncounted:
                return sizes.queues[0].size

    async def log(self, limit: int = 1000) -> list[LogLine]:
        """The newest lines of this publisher's log, oldest first: what subscribers reported, and what all of them have.

        Raises ``LogUnavailable``.
        """
        return await publisher_log(self._board.log, self._board.settings.topics, self.name, limit)

    async def _request(
        self, kind: Kind, paths: tuple[str, ...], deep_paths: tuple[str, ...], source: str, options: RequestOptions
    ) -> Package:
        request = DistributeRequest(
            request_id=options.get("request_id") or secrets.token_hex(16),
            kind=kind,
            paths=paths,
            deep_paths=deep_paths,
            source=source,
            user=options.get("user") or current_user(),
            metadata=tuple(sorted(options.get("metadata", {}).items())),
            recipients=tuple(sorted(set(options.get("recipients", ())))),
        )
        agent = await self.start()
        answer = await agent.ask(roles.DISTRIBUTOR, request, options.get("timeout_s", PUBLISH_TIMEOUT_S))
        assert isinstance(answer, DistributeResponse)
        if not answer.accepted and not answer.dropped:
            error = LogUnavailable if answer.retry else RequestRefused
            raise error(answer.reason)
        return Package(
            id=answer.package_id,
            offset=answer.offset,
            kind=kind.name,
            publisher=self.name,
            paths=paths,
            length=answer.length,
            entries=answer.entries,
            state="dropped" if answer.dropped else "accepted",
            reason=answer.reason,
            throttled_s=answer.throttled_ms / 1000,
            throttled_by=answer.throttled_by,
        )
