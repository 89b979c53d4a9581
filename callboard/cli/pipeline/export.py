"""``callboard pipeline export``: ships a tree that is too large for one package."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callboard.board.connect.user import current_user
from callboard.cli.options import BoardOptions, Json
from callboard.cli.pipeline.jobs import Partitions, run_job
from callboard.cli.terminal.output import show, show_json
from callboard.units import count

if TYPE_CHECKING:
    from callboard.pipeline.run import Run


def export(
    options: BoardOptions,
    source: Annotated[Path, typer.Argument(help="The folder with the tree; it must not change during the export.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the state of the export.")],
    path: Annotated[str, typer.Argument(help="Ship this path and below.")] = "/",
    publisher: Annotated[str, typer.Option("--publisher", metavar="NAME", help="Default: publisher.name.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="First delete what subscribers have at the path.")] = False,
    partitions: Partitions = 2,
    json: Json = False,
) -> None:
    """Ship a tree of any size as many packages, built in parallel; resumes after an interruption."""
    name = publisher or options.load().config.publisher.name

    def work(run: "Run") -> Any:
        from callboard.pipeline.export.export import Exporting, export

        wanted = Exporting(
            source=str(source.absolute()), path=path, publisher=name, name=secrets.token_hex(8), user=current_user(),
            replace=replace,
        )  # fmt: skip
        return export(run, out.absolute(), wanted)

    done = run_job("export", options, "", partitions, work)
    if json:
        show_json(done)
        return
    show(f"export {done.job}: {count(done.packages, 'package')} on the log below offset {done.end}, {done.appended} of "
         "them by this run")  # fmt: skip
    show(f"export took {done.seconds:.1f} s")
