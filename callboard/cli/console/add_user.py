"""``callboard console add-user``: adds a user with a password."""

import getpass
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from callboard.cli.board import place
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.output import show
from callboard.config import Value
from callboard.errors import ConfigError, RequestRefused


def add_user(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that they sign in with.")],
    role: Annotated[Literal["viewer", "operator"], typer.Option(help="A viewer may look, an operator may also act.")],
    users: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file of users; default: console.users.")
    ] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input, as one line.")
    ] = False,
) -> None:
    """Add a user to the file of users, or give one another role and password; a running console notices."""
    from callboard import web  # noqa: F401 - only to see whether the extra is there
    from callboard.web.signin.users_file import check_user_name, write_user

    section = options.load(Value(("console", "users"), users and str(users), "--users")).config.console
    if not section.users:
        raise ConfigError("there is no file of users; name one by --users FILE, or set users in [console]")
    check_user_name(name)
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else _asked(name)
    is_new = write_user(section.users, name, role, password)
    show(f"{'added' if is_new else 'changed'} {role} {name} in {place(section.users)}")


def _asked(name: str) -> str:
    """The password, typed twice the same."""
    if not sys.stdin.isatty():
        raise RequestRefused(
            "there is no terminal to ask for the password on; add --password-stdin", code="unconfirmed"
        )
    password = getpass.getpass(f"Password of {name}: ")
    if getpass.getpass("Again: ") != password:
        raise ConfigError("the two passwords differ; nothing was changed")
    return password
