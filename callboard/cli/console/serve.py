"""``callboard console``: serves the pages and the API."""

import asyncio
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.options import BoardOptions
from callboard.cli.run.service import stop_signals
from callboard.cli.terminal.output import show
from callboard.config import ConsoleSection, Loaded, Value
from callboard.door.addresses import LOOPBACK, listening
from callboard.door.rules import shown
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from callboard.web import Access

_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def serve(
    options: BoardOptions,
    listen: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Where; default: port 8477 of localhost.")
    ] = None,
    allow_actions: Annotated[
        bool, typer.Option("--allow-actions", help="Let operators act; otherwise it is read-only.")
    ] = False,
    users: Annotated[Path | None, typer.Option(metavar="FILE", help="The users with passwords; see add-user.")] = None,
    trusted_header: Annotated[
        str | None, typer.Option(metavar="NAME", help="The header in which a proxy names the user.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, typer.Option(metavar="NETWORK", help="Let only this proxy connect; can be repeated.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Serve HTTPS with this certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")] = None,
    root_path: Annotated[
        str | None, typer.Option(metavar="/PATH", help="The path below which a proxy shows it.")
    ] = None,
) -> None:
    """Serve pages and an HTTP API that show the board, until Ctrl-C or SIGTERM; runs without a name."""
    from callboard import web  # noqa: F401 - only to see whether the extra is there

    flags = {
        "listen": listen, "allow_actions": allow_actions or None, "users": users and str(users),
        "tls_cert": tls_cert and str(tls_cert), "tls_key": tls_key and str(tls_key), "root_path": root_path,
        "trusted_header": trusted_header, "trusted_proxies": trusted_proxy or None,
    }  # fmt: skip
    loaded = options.load(*(Value(("console", name), value, flag(name)) for name, value in flags.items()))
    asyncio.run(_serve(options, loaded))


def flag(setting: str) -> str:
    """The option for a setting."""
    return "--trusted-proxy" if setting == "trusted_proxies" else f"--{setting.replace('_', '-')}"


async def _serve(options: BoardOptions, loaded: Loaded) -> None:
    from callboard.http_server import Server
    from callboard.web.app import board_app, watched

    section = loaded.config.console
    host, port = listening(section.listen, "listen", any_port=True)
    access, context = access_of(section), tls(section)
    demand_safety(host, access, is_tls=context is not None)
    configure_service_logging(options, loaded.config)
    with stop_signals() as stop:
        async with open_board(loaded) as board:
            app = board_app(board, allow_actions=section.allow_actions, access=access)
            server = Server(below(section.root_path, app), (host, port), context, streams=True)
            async with watched(board):
                await server.start()
                try:
                    shown_host = f"[{host}]" if ":" in host else host
                    url = f"{'https' if context else 'http'}://{shown_host}:{server.port}{section.root_path}/"
                    show(f"the console of {place(loaded.config.log)} is at {url}; Ctrl-C ends it")
                    structlog.get_logger().info("console.started", url=url, actions=section.allow_actions)
                    await stop.wait()
                finally:
                    await server.stop()
    structlog.get_logger().info("console.stopped")


def access_of(section: ConsoleSection) -> "Access":
    """Who may see it. Raises ``ConfigError``, and ``ExtraMissing``."""
    from callboard.web import Access, Provider

    of_provider = {
        "oidc_discovery": section.oidc_discovery, "oidc_client_id": section.oidc_client_id,
        "oidc_secret_file": section.oidc_secret_file,
    }  # fmt: skip
    missing = [name for name, value in of_provider.items() if not value]
    if missing and len(missing) < len(of_provider):
        raise ConfigError(f"an OpenID provider needs {' and '.join(missing)} in [console], too")
    provider = None if missing else Provider(
        discovery=section.oidc_discovery, client_id=section.oidc_client_id, secret_file=section.oidc_secret_file,
        name_claim=section.oidc_name_claim, role_claim=section.oidc_role_claim,
    )  # fmt: skip
    return Access(
        users=section.users, provider=provider, header=section.trusted_header, role_header=section.role_header,
        viewers=section.viewers, operators=section.operators, proxies=section.trusted_proxies,
        secret_file=section.session_secret_file,
    )  # fmt: skip


def tls(section: ConsoleSection) -> ssl.SSLContext | None:
    """The certificate, if there is one. Raises ``ConfigError`` if it cannot be used."""
    if not section.tls_cert and not section.tls_key:
        return None
    if not (section.tls_cert and section.tls_key):
        raise ConfigError("HTTPS needs a certificate and its private key; set tls_cert and tls_key")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(section.tls_cert, section.tls_key, password="")  # or it would ask the terminal
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"tls_cert {section.tls_cert} and tls_key {section.tls_key} cannot be used: {error}; give files in PEM "
            "that this process can read, and the key of the certificate, without a password"
        ) from error
    return context


def demand_safety(host: str, access: "Access", *, is_tls: bool) -> None:
    """Refuse to be reached from elsewhere by anybody, or to have passwords sent there as they are.

    Raises ``ConfigError``.
    """
    from callboard.web.signin.access import is_loopback

    if is_loopback(host):
        return
    if access.is_local:
        raise ConfigError(
            f"on {host}, anybody could see the console; listen on {LOOPBACK}, or set who may see it: users (--users), "
            "an OpenID provider (oidc_discovery), or a trusted header (--trusted-header)"
        )
    if not is_tls and not access.proxies:
        raise ConfigError(
            f"on {host}, passwords and sessions could be read on the network; set --tls-cert and --tls-key, or "
            "--trusted-proxy if a proxy in front of it speaks HTTPS"
        )


def below(root_path: str, app: "ASGIApp") -> "ASGIApp":
    """The application at this path, no matter whether a proxy removes it from requests. Raises ``ConfigError``."""
    if not _ROOT_PATH.fullmatch(root_path):
        raise ConfigError(f"root_path is {shown(root_path)}, but should be a path such as /callboard, or empty")

    async def answer(scope: "Scope", receive: "Receive", send: "Send") -> None:
        path = scope["path"]
        whole = path if f"{path}/".startswith(f"{root_path}/") else root_path + path
        await app({**scope, "root_path": root_path, "path": whole}, receive, send)

    return answer
