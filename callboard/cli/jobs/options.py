"""The options of a job that is added at the command line."""

from typing import Annotated

import typer

Priority = Annotated[int, typer.Option(min=-100, max=100, help="Of those that are due, the highest first.")]
Lane = Annotated[str, typer.Option(metavar="NAME", help="Jobs of a lane run one after another.")]
Unique = Annotated[str, typer.Option(metavar="KEY", help="Not while one with this key is unfinished.")]
UniqueFor = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Nor so soon after it was added.")]
Retries = Annotated[int | None, typer.Option(min=-1, help="Default: as its queue says; -1: no limit.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="For an attempt; 0: as its queue says.")]
Title = Annotated[str, typer.Option(help="For display.")]
Topic = Annotated[str, typer.Argument(help="What to do, such as mail/send.", show_default=False)]
Payload = Annotated[
    str | None, typer.Argument(metavar="[PAYLOAD]", help="JSON for the function that runs it.", show_default=False)
]
