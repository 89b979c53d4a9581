"""Where pages are written: each one that is saved is on every edge a moment later.

    uvicorn cms:app --port 8000

Log and pages are in ``site-data``, or in the folder ``SITE_FOLDER``.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Request
from fastapi import Path as InPath

from callboard import Callboard, Publisher

FOLDER = Path(os.environ.get("SITE_FOLDER", "site-data"))
PAGES = FOLDER / "pages"

Name = Annotated[str, InPath(pattern="^[a-z0-9-]{1,80}$")]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the board for as long as the service runs."""
    PAGES.mkdir(parents=True, exist_ok=True)
    async with Callboard("sqlite:///./log", base=FOLDER) as board:
        app.state.board = board
        yield


app = FastAPI(title="cms", lifespan=lifespan)


def publisher(request: Request) -> Publisher:
    """What ships the pages."""
    board: Callboard = request.app.state.board
    return board.publisher("cms")


@app.put("/pages/{name}")
async def save(name: Name, text: Annotated[str, Body(media_type="text/html")], request: Request) -> dict[str, int]:
    """Save a page. When this answers, it is on the log, and no edge can miss it."""
    (PAGES / f"{name}.html").write_text(text, encoding="utf-8")
    package = await publisher(request).publish("pages", [f"/{name}.html"], deep=False)
    return {"offset": package.offset}


@app.delete("/pages/{name}")
async def remove(name: Name, request: Request) -> dict[str, int]:
    """Remove a page."""
    page = PAGES / f"{name}.html"
    if not page.exists():
        raise HTTPException(404, f"there is no page {name}")
    page.unlink()
    package = await publisher(request).delete([f"/{name}.html"])
    return {"offset": package.offset}


@app.get("/edges")
async def edges(request: Request) -> list[dict[str, Any]]:
    """Who has what: each edge, up to which offset, and why it does not move if it does not."""
    board: Callboard = request.app.state.board
    return [
        {
            "name": row.name,
            "live": row.liveness == "live",
            "has_up_to": row.offset,
            "behind": row.lag_packages,
            "troubles": [trouble.what for trouble in row.troubles],
        }
        for row in (await board.status()).subscribers
    ]
