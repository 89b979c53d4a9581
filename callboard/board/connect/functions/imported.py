"""Imports what a setting names as ``module:name``."""

import importlib
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

from callboard.backends.echo import quoted
from callboard.errors import ConfigError


def imported(where: str, base: Path, what: str) -> Any:
    """The object at ``module:name``; the module is installed, or in the folder ``base``. Raises ``ConfigError``."""
    module, _, name = where.partition(":")
    if not module or not name:
        raise ConfigError(f"{what} {quoted(where)} cannot be imported: write it as module:name, such as shop:jobs")
    if str(base) not in sys.path:
        sys.path.append(str(base))
    try:
        return attrgetter(name)(importlib.import_module(module))
    except Exception as error:  # the module is the service's own, and may fail in any way
        raise ConfigError(
            f"{what} {quoted(where)} cannot be imported: {type(error).__name__}: {error}; modules are searched in "
            f"Python's path and {base}"
        ) from error
