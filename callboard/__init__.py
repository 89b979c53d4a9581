"""callboard: distributes content from publishers to fleets of subscribers through one persisted log.

Everything that a service needs is here: ``Callboard``, how its publishers ship (``Publishing``), the ``Package`` it
answers with, and the errors. Code without an event loop uses ``callboard.sync.Callboard``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callboard.actors.core.hooks import HookCall
    from callboard.board.board import Callboard
    from callboard.board.connect.publishing import Publishing
    from callboard.board.views import Package
    from callboard.errors import (
        AgentFailed,
        BlobError,
        CallboardError,
        ConfigError,
        LogError,
        LogUnavailable,
        NotAllImported,
        NotAnswered,
        PackageError,
        RepositoryBusy,
        RepositoryError,
        RequestRefused,
        RootFilled,
        SchemaTooNew,
        SubscriberStuck,
        SubscriberTaken,
    )
    from callboard.messages.signing import SigningKey

__all__ = [
    "AgentFailed",
    "BlobError",
    "Callboard",
    "CallboardError",
    "ConfigError",
    "HookCall",
    "LogError",
    "LogUnavailable",
    "NotAllImported",
    "NotAnswered",
    "Package",
    "PackageError",
    "Publishing",
    "RepositoryBusy",
    "RepositoryError",
    "RequestRefused",
    "RootFilled",
    "SchemaTooNew",
    "SigningKey",
    "SubscriberStuck",
    "SubscriberTaken",
]

__version__ = "0.1.0"
"""Of the package; ``pyproject.toml`` reads it here, since to look it up costs more than most commands may."""

_MODULES = {
    "Callboard": "callboard.board.board",
    "HookCall": "callboard.actors.core.hooks",
    "Package": "callboard.board.views",
    "Publishing": "callboard.board.connect.publishing",
    "SigningKey": "callboard.messages.signing",
}
"""Where the names are that are not errors."""


def __getattr__(name: str) -> Any:
    """The public names, imported with their first use: every layer below imports this package first."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES.get(name, "callboard.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
