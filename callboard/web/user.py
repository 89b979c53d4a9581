"""Who looks at the console, and what they may do."""

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["viewer", "operator"]


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that is signed in. An ``operator`` may act, a ``viewer`` only look.

    ``session`` tells sign-ins of the same name apart; it is empty where nobody signs in here.
    """

    name: str
    role: Role
    session: str = field(default="", repr=False)
