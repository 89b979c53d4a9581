"""Shelves and orders over HTTP.

    uvicorn service:app

Start it on several ports, if you like: the processes share what is in ``stock``, or in the folder ``STOCK_FOLDER``. The
answer to each change has the offset of its commit; give it as ``after`` to whichever process answers the next question.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, FastAPI, Header, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from stock import Availabilities, FillUp, Order, Pay, Place, Receive, Shelf

from callboard import Callboard, CommandRefused, Entities, EntityView, NotAnswered, Projected, RequestRefused

VIEW = "stock_availability"


class Goods(BaseModel):
    """Pieces for a shelf."""

    pieces: int


class NewOrder(BaseModel):
    """What somebody orders, and how long it is kept for them."""

    sku: str
    pieces: int
    pay_within_s: int = 600


class Stock(NamedTuple):
    """What the service works with."""

    shelves: Entities[Shelf]
    orders: Entities[Order]
    table: Projected[Any]
    file: Path


def make_app(folder: Path) -> FastAPI:
    """The service on the log, the snapshots and the table in a folder."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with Callboard("sqlite:///./log", base=folder) as board:
            shelves = board.entities(Shelf, snapshots="sqlite:snapshots.db")
            orders = board.entities(Order, snapshots="sqlite:snapshots.db")
            table = board.projection(Availabilities, into="sqlite:tables.db")
            for its in (shelves, orders, table, board.reaction(FillUp, into="sqlite:tables.db")):
                await its.start()
            app.state.stock = Stock(shelves, orders, table, folder / "tables.db")
            yield

    app = FastAPI(title="stock", lifespan=lifespan)
    app.add_exception_handler(CommandRefused, refused(409))
    app.add_exception_handler(RequestRefused, refused(422))
    app.add_exception_handler(NotAnswered, refused(503))
    app.post("/shelves/{sku}")(receive)
    app.get("/shelves")(shelves_now)
    app.post("/orders/{order}", status_code=201)(place)
    app.post("/orders/{order}/pay")(pay)
    app.get("/orders/{order}")(order_now)
    return app


def refused(status: int) -> Any:
    """Tells an error with this status."""

    async def told(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"code": getattr(error, "code", ""), "problem": str(error)}, status)

    return told


async def of_request(request: Request) -> Stock:
    """What ``lifespan`` has opened."""
    its: Stock = request.app.state.stock
    return its


Its = Annotated[Stock, Depends(of_request)]
CommandId = Annotated[str, Header(alias="Idempotency-Key")]
After = Annotated[int, Query(ge=-1)]


async def receive(sku: str, goods: Goods, its: Its, command_id: CommandId = "") -> dict[str, Any]:
    """Put pieces on a shelf; the table has them when this answers."""
    done = await its.shelves.send(sku, Receive(pieces=goods.pieces), command_id=command_id)
    await its.table.reached(done.offset, Shelf)
    return {"offset": done.offset, "repeated": done.repeated}


async def shelves_now(its: Its, after: After = -1) -> list[dict[str, Any]]:
    """The table, with everything up to the offset ``after`` of the shelves."""
    await its.table.reached(after, Shelf)
    return await asyncio.to_thread(read, its.file)


def read(file: Path) -> list[dict[str, Any]]:
    """All rows, by SQL."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {VIEW} ORDER BY key")]


async def place(order: str, new: NewOrder, its: Its, command_id: CommandId = "") -> dict[str, Any]:
    """Order pieces of one sort."""
    command = Place(sku=new.sku, pieces=new.pieces, pay_within_s=new.pay_within_s)
    done = await its.orders.send(order, command, command_id=command_id)
    return told(await its.orders.get(order, after=done.offset))


async def pay(order: str, its: Its, command_id: CommandId = "") -> dict[str, Any]:
    """Pay what is reserved."""
    done = await its.orders.send(order, Pay(), command_id=command_id)
    return told(await its.orders.get(order, after=done.offset))


async def order_now(order: str, its: Its, after: After = -1) -> Any:
    """An order, with everything up to the offset ``after`` of the orders."""
    found = await its.orders.get(order, after=after)
    if found.state is None:
        return JSONResponse({"code": "unknown", "problem": f"there is no order {order}"}, 404)
    return told(found)


def told(found: EntityView[Order]) -> dict[str, Any]:
    """An order as JSON, and up to which offset it is known."""
    assert found.state is not None
    its = found.state
    return {
        "order": found.key,
        "sku": its.sku,
        "pieces": its.pieces,
        "stage": its.stage.name.lower(),
        "offset": found.offset,
    }


app = make_app(Path(os.environ.get("STOCK_FOLDER", "stock-data")))
