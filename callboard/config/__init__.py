"""The configuration: callboard.toml, over it the environment, over both the flags of the command line."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from callboard.config.model import LOG, Config, LoggingSection, PublisherSection, RetentionSection, SubscriberSection
from callboard.config.problems import sentences
from callboard.config.sources import FILE, Key, Value, anchored, demand_names, from_environment, from_file, nested
from callboard.errors import ConfigError

__all__ = [
    "FILE",
    "Config",
    "Key",
    "Loaded",
    "LoggingSection",
    "PublisherSection",
    "RetentionSection",
    "SubscriberSection",
    "Value",
    "load",
    "setting_names",
]


def setting_names(section: type[BaseModel] = Config, above: str = "") -> Iterator[str]:
    """Every setting, with dots between section and key; the sections of single subscribers by their heading alone."""
    for name, field in section.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from setting_names(type(field.default), f"{above}{name}.")
        else:
            yield above + name


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration and, for every value that is not a default, where it came from.

    ``file`` is the one that was read, if any; ``base`` the folder that a default path starts from.
    """

    config: Config
    file: Path | None
    base: Path
    given: Mapping[Key, Value]

    def origins(self) -> Iterator[Value]:
        """Every setting with its value and origin."""
        yield from self._origins((), self.config)

    def _origins(self, above: Key, section: BaseModel) -> Iterator[Value]:
        for name in type(section).model_fields:
            key, value = (*above, name), getattr(section, name)
            if isinstance(value, BaseModel):
                yield from self._origins(key, value)
            elif name == "subscribers":
                for subscriber, own in value.items():
                    yield from (
                        origin for origin in self._origins((*key, subscriber), own) if origin.key in self.given
                    )
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

    Relative paths in the file start from the file's folder, all others from the current one.

    Args:
        path: the file; if not given, ``callboard.toml`` in the current folder, if there is one.
        environ: variables, of which those that begin with ``CALLBOARD_`` count; sections are parted by ``__``.
        flags: what the command line says; those whose value is ``None`` are not given.
        cwd: the current folder, if another than the process's.

    Raises:
        ConfigError: one line for every unknown key and every wrong value, each naming where it was set; or a variable
            that resembles a setting, and is none.
    """
    cwd = cwd or Path.cwd()
    if path is None and (cwd / FILE).is_file():
        path = cwd / FILE
    base = (cwd / path).parent if path else cwd
    given: dict[Key, Value] = {}
    if path is not None:
        given |= {value.key: anchored(value, base) for value in from_file(cwd / path)}
    given |= {value.key: anchored(value, cwd) for value in from_environment(environ or {}, setting_names())}
    given |= {value.key: anchored(value, cwd) for value in flags if value.value is not None}
    for value in given.values():
        demand_names(value)
    tables = nested(given.values())
    tables.setdefault("log", anchored(Value(("log",), LOG, ""), base).value)
    _inherit(tables)
    try:
        return Loaded(Config.model_validate(tables), path, base, given)
    except ValidationError as error:
        raise ConfigError(sentences(error, given)) from None


def _inherit(tables: dict[str, Any]) -> None:
    """What is set for all subscribers holds for each that does not say otherwise."""
    shared, subscribers = tables.get("subscriber"), tables.get("subscribers")
    if isinstance(shared, dict) and isinstance(subscribers, dict):
        for name, own in subscribers.items():
            if isinstance(own, dict):
                subscribers[name] = shared | own
