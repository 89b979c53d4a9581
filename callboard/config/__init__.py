"""The configuration: callboard.toml, overridden by the environment, overridden by command line flags."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callboard.config.sources import (
    CONFIG_VARIABLE,
    FILE,
    LOG,
    PREFIX,
    Key,
    Value,
    anchored,
    demand_names,
    from_environment,
    from_file,
    is_there,
    nested,
)
from callboard.config.unset import PLACES, SECTIONS, Unset, unset
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from callboard.config.model import (
        Config,
        ConsoleSection,
        LoggingSection,
        MemberSection,
        PublisherSection,
        RelaySection,
        RetentionSection,
        SubscriberSection,
    )

__all__ = [
    "CONFIG_VARIABLE",
    "FILE",
    "Config",
    "ConsoleSection",
    "Key",
    "Loaded",
    "LoggingSection",
    "MemberSection",
    "PublisherSection",
    "RelaySection",
    "RetentionSection",
    "SubscriberSection",
    "Value",
    "load",
    "setting_names",
]


def __getattr__(name: str) -> Any:
    """The model and its sections, imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("callboard.config.model"), name)


def setting_names(section: "type[BaseModel] | None" = None, above: str = "") -> Iterator[str]:
    """Every setting as ``section.key``; tables of single subscribers or publishers by their heading alone."""
    from pydantic import BaseModel

    from callboard.config.model import Config

    for name, field in (section or Config).model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from setting_names(type(field.default), f"{above}{name}.")
        else:
            yield above + name


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration and, for every value that is not a default, its origin.

    ``file`` is the file that was read, if any; ``base`` the folder that default paths are relative to.
    """

    config: "Config"
    file: Path | None
    base: Path
    given: Mapping[Key, Value]

    def origins(self) -> Iterator[Value]:
        """Every setting with its value and origin."""
        yield from self._origins((), self.config.model() if isinstance(self.config, Unset) else self.config)

    def _origins(self, above: Key, section: "BaseModel") -> Iterator[Value]:
        from pydantic import BaseModel

        for name in type(section).model_fields:
            key, value = (*above, name), getattr(section, name)
            if isinstance(value, BaseModel):
                yield from self._origins(key, value)
            elif name in ("subscribers", "publishers", "relays"):
                for named, own in value.items():
                    yield from (each for each in self._origins((*key, named), own) if each.key in self.given)
            elif key[:1] == ("publishers",):
                yield from (self.given[(*key, folder)] for folder in value)
            else:
                given = self.given.get(key)
                yield Value(key, value, given.origin if given else "default")


def load(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Iterable[Value] = (),
    *,
    cwd: Path | None = None,
) -> Loaded:
    """Read the configuration.

    Paths in the file are relative to the file's folder, all others to the current one.

    Args:
        path: the file; if not given, ``callboard.toml`` in the current folder, if there is one.
        environ: variables; those with the prefix ``CALLBOARD_`` are used, with ``__`` between sections.
        flags: values from the command line; ``None`` means not given.
        cwd: the current folder, if not the process's.

    Raises:
        ConfigError: one line for every unknown key and every wrong value, each naming its origin; or a variable
            that resembles a setting but is none.
    """
    cwd = cwd or Path.cwd()
    if path is None and is_there(cwd / FILE):
        path = cwd / FILE
    base = (cwd / path).parent if path else cwd
    given: dict[Key, Value] = {}
    if path is not None:
        given |= {value.key: anchored(value, base) for value in from_file(cwd / path)}
    if any(name.startswith(PREFIX) and name != CONFIG_VARIABLE for name in environ or {}):
        given |= {value.key: anchored(value, cwd) for value in from_environment(environ or {}, setting_names())}
    given |= {value.key: anchored(value, cwd) for value in flags if value.value is not None}
    for value in given.values():
        demand_names(value)
    tables = nested(given.values())
    tables.setdefault("log", anchored(Value(("log",), LOG, ""), base).value)
    _inherit(tables)
    if all((value.key[0] in PLACES and isinstance(value.value, str)) or _is_bare(value) for value in given.values()):
        return Loaded(unset({name: tables[name] for name in PLACES if name in tables}), path, base, given)
    from pydantic import ValidationError

    from callboard.config.model import Config
    from callboard.config.problems import sentences

    try:
        return Loaded(Config.model_validate(tables), path, base, given)
    except ValidationError as error:
        raise ConfigError(*sentences(error, given)) from None


def _is_bare(value: Value) -> bool:
    """Whether it is a section without settings; the file that ``callboard init`` writes is full of them."""
    return value.value == {} and len(value.key) == 1 and value.key[0] in SECTIONS


def _inherit(tables: dict[str, Any]) -> None:
    """Apply the settings of all subscribers to each that does not override them."""
    shared, subscribers = tables.get("subscriber"), tables.get("subscribers")
    if isinstance(shared, dict) and isinstance(subscribers, dict):
        for name, own in subscribers.items():
            if isinstance(own, dict):
                subscribers[name] = shared | own
