"""The service of the stock example, spoken to over HTTP."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx

from callboard.testing.servers.network import free_port
from tests.examples.worlds import EXAMPLES

from examples.stock import service  # isort: skip  # it finds the module stock by those of worlds

DEADLINE_S = 60.0
POLL_S = 0.05


@asynccontextmanager
async def spoken_to(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = service.make_app(folder)
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://stock") as it:
        yield it


def run(folder: Path, test: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with spoken_to(folder) as client:
            await test(client)

    asyncio.run(main())


async def until(client: httpx.AsyncClient, path: str, wanted: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while not wanted(found := (await client.get(path)).json()):
        assert time.monotonic() < deadline, found
        await asyncio.sleep(POLL_S)
    return found


def test_an_order_is_reserved_paid_and_shipped(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient) -> None:
        await client.post("/shelves/cup", json={"pieces": 10})
        placed = await client.post("/orders/a", json={"sku": "cup", "pieces": 3})
        assert placed.status_code == 201
        assert placed.json()["stage"] == "reserving"
        await until(client, "/orders/a", lambda its: its["stage"] == "reserved")
        assert (await client.post("/orders/a/pay")).json()["stage"] == "shipping"
        await until(client, "/orders/a", lambda its: its["stage"] == "shipped")
        [cup] = await until(client, "/shelves", lambda rows: rows[0]["shipped"] == 3)
        assert cup == {"key": "cup", "pieces": 7, "reserved": 0, "shipped": 3}

    run(tmp_path, test)


def test_who_has_put_pieces_on_a_shelf_finds_them_in_the_table(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient) -> None:
        assert (await client.get("/shelves")).json() == []
        for pieces in range(1, 6):
            done = (await client.post("/shelves/cup", json={"pieces": pieces})).json()
            [cup] = (await client.get("/shelves", params={"after": done["offset"]})).json()
            assert cup["pieces"] == sum(range(pieces + 1))

    run(tmp_path, test)


def test_refusals_are_told_with_their_codes(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient) -> None:
        none = await client.post("/shelves/cup", json={"pieces": 0})
        assert (none.status_code, none.json()) == (409, {"code": "pieces", "problem": "at least one piece"})
        unpaid = await client.post("/orders/a/pay")
        assert (unpaid.status_code, unpaid.json()["code"]) == (409, "not_payable")
        too_long = await client.post(f"/shelves/{'x' * 201}", json={"pieces": 1})
        assert (too_long.status_code, too_long.json()["code"]) == (422, "invalid")
        assert (await client.get("/orders/a")).status_code == 404

    run(tmp_path, test)


def test_a_repeated_request_counts_once(tmp_path: Path) -> None:
    async def test(client: httpx.AsyncClient) -> None:
        own = {"Idempotency-Key": "delivery 17"}
        first, second = [await client.post("/shelves/cup", json={"pieces": 5}, headers=own) for _ in range(2)]
        assert first.json()["offset"] == second.json()["offset"]
        assert second.json()["repeated"]
        assert (await client.get("/shelves")).json()[0]["pieces"] == 5

    run(tmp_path, test)


@contextmanager
def served(folder: Path, name: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A real server, and its address."""
    port = free_port()
    with (folder / f"{name}.out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port)],
            cwd=EXAMPLES / "stock", env=os.environ | {"STOCK_FOLDER": str(folder)}, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + DEADLINE_S
        while not is_up(address):
            assert process.poll() is None, (folder / f"{name}.out").read_text()
            assert time.monotonic() < deadline, (folder / f"{name}.out").read_text()
            time.sleep(POLL_S)
        yield address, process
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def is_up(address: str) -> bool:
    try:
        return httpx.get(f"{address}/shelves", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_two_servers_share_their_shelves_and_one_goes_on_when_the_other_is_killed(tmp_path: Path) -> None:
    with served(tmp_path, "a") as (first, killed), served(tmp_path, "b") as (second, _):
        done = httpx.post(f"{first}/shelves/cup", json={"pieces": 10}, timeout=30).json()
        cup = {"key": "cup", "pieces": 10, "reserved": 0, "shipped": 0}
        assert httpx.get(f"{second}/shelves", params={"after": done["offset"]}, timeout=30).json() == [cup]
        httpx.post(f"{first}/orders/a", json={"sku": "cup", "pieces": 3}, timeout=30).raise_for_status()
        killed.kill()
        deadline = time.monotonic() + DEADLINE_S
        while httpx.get(f"{second}/orders/a", timeout=30).json()["stage"] != "reserved":
            assert time.monotonic() < deadline
            time.sleep(POLL_S)
        more = httpx.post(f"{second}/shelves/cup", json={"pieces": 5}, timeout=30).json()
        [row] = httpx.get(f"{second}/shelves", params={"after": more["offset"]}, timeout=30).json()
        assert (row["pieces"], row["reserved"]) == (15, 3)
