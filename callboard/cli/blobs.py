"""``callboard blobs``: removes unused blobs from the blob store."""

from typing import TYPE_CHECKING, Annotated

import typer

from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Yes
from callboard.cli.subscribers.clear import confirm
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show, show_json
from callboard.content.collection import BlobCollection
from callboard.units import count, size

if TYPE_CHECKING:
    from callboard.board.board import Callboard


def collect(
    options: BoardOptions,
    delete: Annotated[bool, typer.Option("--delete", help="Remove them; without it, nothing changes.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Find blobs that no record on the log needs, and that are older than janitor.grace_hours."""
    grace_s = options.load().config.janitor.grace_hours * 3600

    async def work(board: "Callboard") -> BlobCollection:
        if delete and not yes:
            found = await board.collect_blobs(delete=False, grace_s=grace_s)
            if found.unused:
                confirm(
                    f"nothing but this log uses this blob store; remove {count(found.unused, 'blob')}, "
                    f"{size(found.unused_bytes)}?"
                )
        return await board.collect_blobs(delete=delete, grace_s=grace_s)

    done = on_board(options, work)
    if json:
        show_json(done)
    else:
        show(f"{count(done.blobs, 'blob')}, {size(done.length)}; unused {done.unused}, {size(done.unused_bytes)}")
        if delete:
            show(f"removed {count(done.removed, 'blob')}, {size(done.removed_bytes)}")
    if done.problem:
        say(f"warning: {done.problem}")
        raise typer.Exit(FOUND)
