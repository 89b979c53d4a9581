"""Plants a bug in the code, and removes it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Patch:
    """Replaces the ``attribute`` of ``owner``, a class or module, by ``wrong`` applied to it."""

    name: str
    owner: Any
    attribute: str
    wrong: Callable[[Any], Any]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Plant it for the duration of the context."""
        right = vars(self.owner)[self.attribute]
        setattr(self.owner, self.attribute, self.wrong(right))
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, right)
