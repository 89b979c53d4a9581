"""A bug that is put into the code, and taken out again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Patch:
    """In place of what ``owner`` (a class or module) has under ``attribute`` it gets ``wrong`` of that."""

    name: str
    owner: Any
    attribute: str
    wrong: Callable[[Any], Any]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Have it in the code."""
        right = vars(self.owner)[self.attribute]
        setattr(self.owner, self.attribute, self.wrong(right))
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, right)
