"""The configuration with nothing set but the places of the log and the blobs. It does without pydantic, whose import
takes as long as a whole ``callboard status`` should.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.messages.distribution.package_event import EVENTS

if TYPE_CHECKING:
    from callboard.config.model import Config

PLACES = ("log", "blobs")
"""The settings that may be set."""

SECTIONS: Mapping[str, Mapping[str, Any]] = {
    "publisher": {
        "name": "main", "source": "", "include": (), "exclude": EXCLUDED, "max_package_mb": None, "throttle_by": "none",
        "throttle_for": (), "throttle_at": 1000, "throttle_max_s": 20.0, "events": EVENTS, "compress": True,
    },
    "subscriber": {"into": ""},
    "retention": {"gate": "none", "gate_gone_days": None, "archive_tip": "", "limits": lambda: None},
    "janitor": {"enabled": False, "grace_hours": 24.0},
    "member": {"instance": ""},
    "worker": {"jobs": ""},
    "archive": {"place": ""},
    "console": {"users": ""},
    "logging": {"level": "info", "format": "auto"},
}  # fmt: skip
"""The defaults that read-only commands need; all others come from the model. A test compares these with it."""

TOP: Mapping[str, Any] = {
    "blobs": "", "job_context": (), "prefix": "callboard", "signing_key": "", "trusted_keys": (), "runtime": "embedded",
    "subscribers": {}, "relays": {},
}  # fmt: skip


class Unset:
    """The values of a section, or of the whole configuration; missing ones come from the model."""

    def __init__(self, values: Mapping[str, Any], model: Callable[[], Any]) -> None:
        self._values = values
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._model(), name)

    def __eq__(self, other: object) -> bool:
        return bool(self._model() == (other._model() if isinstance(other, Unset) else other))

    __hash__ = None  # type: ignore[assignment]  # a section has none either

    def model(self) -> Any:
        """The same values in the model's class."""
        return self._model()


def unset(places: Mapping[str, str]) -> "Config":
    """The configuration with these places of the log and the blobs."""

    def model() -> Any:
        from callboard.config.model import Config

        return Config.model_validate(places)

    def section(name: str) -> Callable[[], Any]:
        return lambda: getattr(model(), name)

    sections = {name: Unset(values, section(name)) for name, values in SECTIONS.items()}
    return cast("Config", Unset({**TOP, **places, **sections}, model))
