"""Who looks at the console, and what they may do."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["viewer", "operator"]


@dataclass(frozen=True, slots=True)
class User:
    """A person or program that is signed in. An ``operator`` may act, a ``viewer`` only look."""

    name: str
    role: Role
