"""``callboard outbox``: the table of the outbox, and what waits in it."""

import asyncio
from typing import Annotated

import typer

from callboard.backends.examination import Level
from callboard.board.jobs.outbox.checkup import findings
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import show, show_result
from callboard.config import Loaded, Value
from callboard.errors import ConfigError

Database = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="The database of the outbox.", show_default=False)
]


def located(options: BoardOptions, database: str | None) -> Loaded:
    """The configuration, with the URL of the outbox. Raises ``ConfigError`` if there is none."""
    loaded = options.load(Value(("outbox",), database, "--database"))
    if not loaded.config.outbox:
        raise ConfigError(
            "no database is named; add --database postgresql://user@host/database, or set outbox in callboard.toml"
        )
    return loaded


def create(
    options: BoardOptions,
    database: Database = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL for psql; change nothing.")] = False,
) -> None:
    """Create the table of the outbox in a PostgreSQL database, unless it is there."""
    from callboard.backends.postgres import outbox

    if sql:
        show(*outbox.SQL.rstrip().split("\n"))
        return
    server = outbox.server_of(located(options, database).config.outbox)

    async def work() -> None:
        async with outbox.opened(server, create=True):
            pass

    asyncio.run(work())
    show(f"the table callboard_outbox is there, in the schema {server.schema} of {server.name}")


def status(options: BoardOptions, database: Database = None, json: Json = False) -> None:
    """Show how many jobs wait in the outbox; exit with 1 if some wait for long or cannot be added."""
    from callboard.backends.postgres import outbox

    server = outbox.server_of(located(options, database).config.outbox)

    async def work() -> outbox.OutboxState:
        async with outbox.opened(server) as table:
            return await table.state()

    state = asyncio.run(work())
    found = list(findings(state))
    lines = [line for each in found for line in (each.what, f"  fix: {each.fix}" * bool(each.fix)) if line]
    show_result(state, *lines, json=json)
    if any(each.level is Level.PROBLEM for each in found):
        raise typer.Exit(FOUND)
