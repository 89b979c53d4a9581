"""``callboard migrate``: brings the schema of a PostgreSQL database up to date."""

import asyncio
from typing import Annotated

import typer

from callboard.cli.board import place
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.output import show
from callboard.errors import ConfigError


def migrate(
    options: BoardOptions,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL for psql; change nothing.")] = False,
) -> None:
    """Update the schema of a PostgreSQL log. Stop the board's processes first."""
    url = options.load().config.log
    if not url.startswith("postgresql:"):
        raise ConfigError(f"the log {place(url)} has no schema to update; only postgresql:// logs have one")
    from callboard.backends.postgres import migration
    from callboard.backends.postgres.server import Server

    if sql:
        show(*migration.sql(Server.of(url).schema).split("\n"))
        return
    for version in asyncio.run(migration.migrate(url)):
        show(f"applied version {version}")
    show(f"{place(url)} is up to date")
