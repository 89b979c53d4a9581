"""Who looks at the console, and what they may do."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from callboard.door.limits import ID_CHARS_MAX
from callboard.door.rules import Rule, checked, choice, text
from callboard.errors import ConfigError

Role = Literal["viewer", "operator"]


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that is signed in. An ``operator`` may act, a ``viewer`` only look.

    ``session`` tells sign-ins of the same name apart; it is empty where nobody signs in here.

    Raises ``ConfigError`` for a name that cannot be in audit lines, and for another role.
    """

    name: str
    role: Role
    session: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        checked(ConfigError, RULES, {"name": self.name, "role": self.role, "session": self.session})


_TEXT = text(ID_CHARS_MAX, printable=True)

RULES: dict[str, Rule] = {"name": _TEXT, "role": choice(*get_args(Role)), "session": _TEXT}
"""See ``User``."""
