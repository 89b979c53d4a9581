"""An edge: serves the pages over HTTP, and says that it is ready only when it has all of them.

    EDGE=paris uvicorn edge:app --port 8001

It shares nothing with the cms but the log: here a folder of files, on several hosts a server.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, HTTPException, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse

from callboard import Callboard, Subscriber

FOLDER = Path(os.environ.get("SITE_FOLDER", "site-data"))
NAME = os.environ.get("EDGE", "edge-1")
CONTENT = FOLDER / "edges" / NAME

Name = Annotated[str, InPath(pattern="^[a-z0-9-]{1,80}$")]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Import pages for as long as the service runs."""
    async with (
        Callboard("sqlite:///./log", base=FOLDER) as board,
        board.subscriber(NAME, into=f"edges/{NAME}", follows=("cms",), expect=True, ready_idle_s=0.5) as edge,
    ):
        app.state.edge = edge
        try:
            yield
        finally:
            app.state.edge = None  # also if it ends by itself: then nobody should be sent here any longer


app = FastAPI(title="edge", lifespan=lifespan)


@app.get("/ready")
async def ready(request: Request) -> str:
    """For the load balancer: 200 when this edge has what was published before it started."""
    edge: Subscriber | None = request.app.state.edge
    if edge is None or not edge.ready:
        raise HTTPException(503, "this edge is still importing" if edge else "this edge no longer imports")
    return NAME


@app.get("/{name}")
async def page(name: Name) -> FileResponse:
    """A page. No name has a dot, so that what callboard keeps for itself, in ``.callboard``, is not served."""
    file = CONTENT / f"{name}.html"
    if not file.is_file():
        raise HTTPException(404, f"there is no page {name}")
    return FileResponse(file)
