"""``callboard relay demo``: three sites of ten subscribers behind relays, while these and the server are killed."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

import callboard
from callboard.board.board import Callboard
from callboard.cli.terminal.stage import Services, conclude, stage
from callboard.errors import NotAnswered, RequestRefused

if TYPE_CHECKING:
    from callboard.board.publisher import Publisher
    from callboard.cli.demo.edits import Request
    from callboard.cli.relay_demo.counting_wire import CountingWire
    from callboard.testing.servers.postgres import PostgresServer
    from callboard.testing.servers.s3 import S3Server

SITES = ("berlin", "lagos", "lima")
EDITS = 24
DEADLINE_S = 300.0
"""For what takes a minute."""
SERVER_AT = (5, 15)
"""The edits after which the centre's server is killed."""
BUCKET = "centre"
TIMES_MAX = 2
"""Bytes over the wire to a site, in those published: each is fetched once, and a killed relay fetches some again."""


def demo(seed: Annotated[int, typer.Option(help="Of the edits.", show_default=True)] = 1) -> None:
    """Relay a tree to three sites of ten subscribers while relays and the server are killed; compare all."""
    with stage("critical") as (folder, tell), _servers() as (postgres, s3):
        os.environ.update(s3.environment)
        good, line = asyncio.run(Demo(folder, postgres, s3, seed, tell).run())
    conclude(line, good=good)


@contextmanager
def _servers() -> "Iterator[tuple[PostgresServer, S3Server]]":
    with ExitStack() as stack:
        try:
            from callboard.testing.servers.postgres import postgres_server
            from callboard.testing.servers.s3 import moto_server

            postgres, s3 = stack.enter_context(postgres_server()), stack.enter_context(moto_server())
            s3.create_bucket(BUCKET)
        except (ImportError, RuntimeError) as error:
            what = f"the demo needs a PostgreSQL and an S3 server: {error}"
            raise RequestRefused(what, code="inaccessible") from error
        yield postgres, s3


class Demo:
    """The centre, on PostgreSQL and S3, and sites on SQLite. What a site reads of both passes counting wires."""

    def __init__(
        self, folder: Path, postgres: "PostgresServer", s3: "S3Server", seed: int, tell: Callable[[str], None]
    ) -> None:
        self._folder, self._postgres, self._s3, self._tell = folder, postgres, s3, tell
        self._rng = Random(seed)  # noqa: S311 - reproducible, not secret
        self._source = folder / "source"
        self._services, self._killed, self._crashed = Services(), 0, 0
        self._last = -1  # the offset of the last package
        self._sites: dict[str, Callboard] = {}
        self._upstream: dict[str, tuple[str, str]] = {}  # by site, the centre's log and blobs through its own wire

    async def run(self) -> tuple[bool, str]:
        """Whether all went well, and the figures."""
        shutil.copytree(Path(callboard.__file__).parent, self._source, ignore=shutil.ignore_patterns("__pycache__"))
        try:
            async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
                log, blobs = self._postgres.tcp_url, self._s3.url(BUCKET)
                centre = await stack.enter_async_context(Callboard(log, blobs=blobs, base=self._folder))
                wires = {site: await stack.enter_async_context(self._wired(site)) for site in SITES}
                stack.enter_context(self._services)
                await self._open_sites(stack)
                await self._play(centre)
                await self._settled(centre)
                carried = {site: sum(wire.carried for wire in its) for site, its in wires.items()}
                return await self._outcome(centre, carried)
        except TimeoutError:
            raise NotAnswered(f"the sites do not have everything after {DEADLINE_S:g} s") from None

    @asynccontextmanager
    async def _wired(self, site: str) -> "AsyncIterator[tuple[CountingWire, CountingWire]]":
        from callboard.cli.relay_demo.counting_wire import counting_wire

        async with counting_wire(self._postgres.port) as to_log, counting_wire(self._s3.port) as to_blobs:
            log = self._postgres.tcp_url.replace(f":{self._postgres.port}/", f":{to_log.port}/")
            blobs = self._s3.through(to_blobs.port).url(BUCKET)
            self._upstream[site] = log, blobs
            yield to_log, to_blobs

    async def _open_sites(self, stack: AsyncExitStack) -> None:
        from callboard.cli.relay_demo.service import serve_edges, site_log

        for site in SITES:
            self._sites[site] = await stack.enter_async_context(Callboard(site_log(site), base=self._folder))
            self._services.start(f"{site} edges", serve_edges, self._folder, site)
            self._start_relay(site)

    def _start_relay(self, site: str) -> None:
        from callboard.cli.relay_demo.service import serve_relay

        self._services.start(site, serve_relay, self._folder, site, *self._upstream[site], self._s3.environment)

    async def _play(self, centre: Callboard) -> None:
        from callboard.cli.demo.edits import Edits

        publisher = centre.publisher("main")
        await publisher.publish(self._source)
        self._tell("the tree is published; its relays and subscribers start")
        for number, requests in enumerate(Edits(self._source, self._rng).make(EDITS), 1):
            for request in requests:
                await self._request(publisher, request)
            if number % len(SITES) == 0:
                await self._kill_relay(self._rng.choice(SITES))
            if number in SERVER_AT:
                await self._kill_server()
            await asyncio.sleep(self._rng.uniform(0.1, 1.0))

    async def _request(self, publisher: "Publisher", request: "Request") -> None:
        if request.kind == "add":
            package = await publisher.publish(self._source, request.paths, deep=request.deep)
        else:
            package = await publisher.delete(request.paths)
        self._last = package.offset

    async def _kill_relay(self, site: str) -> None:
        await asyncio.to_thread(self._services.kill, site)
        self._killed += 1
        self._tell(f"kill -9 of the relay of {site}; it starts again")
        self._start_relay(site)

    async def _kill_server(self) -> None:
        await asyncio.to_thread(self._postgres.kill)
        self._crashed += 1
        self._tell("kill -9 of the centre's server; it starts again in a second")
        await asyncio.sleep(1.0)
        await asyncio.to_thread(self._postgres.start)

    async def _settled(self, centre: Callboard) -> None:
        """Wait until every site says that all of its subscribers have everything."""
        from callboard.board.read.status.status import members
        from callboard.cli.relay_demo.service import EDGES

        self._tell("all is published; what the sites lack comes now")
        while True:
            rows = [each.announcement for each in await members(await centre.context.viewer(), "", 5)]
            done = [row for row in rows if row.site and row.site.subscribers == EDGES and row.offset >= self._last]
            if len(done) == len(SITES):
                return
            await asyncio.sleep(0.5)

    async def _outcome(self, centre: Callboard, carried: dict[str, int]) -> tuple[bool, str]:
        from callboard.cli.relay_demo.outcome import compared
        from callboard.cli.relay_demo.service import EDGES

        logs = {site: board.log for site, board in self._sites.items()}
        found = await compared(self._source, self._folder, centre.log, logs)
        for each in found.different:
            self._tell(each)
        trees, times = len(SITES) * EDGES, max(carried.values()) / found.length
        megabytes = ", ".join(f"{each / 1e6:.1f}" for each in carried.values())
        good = found.good and times < TIMES_MAX and self._killed > 0 and self._crashed == len(SERVER_AT)
        return good, (
            f"relay demo: {trees - len(found.different)} of {trees} trees identical at {len(SITES)} sites after "
            f"{found.packages} packages; {self._killed} relays and the server {self._crashed} times killed, "
            f"{found.lost} lost, {found.twice} twice, {found.astray} out of order; {megabytes} MB over the wire to the "
            f"sites, {times:.2f} times what was published"
        )
