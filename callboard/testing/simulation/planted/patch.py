"""Plants a bug in the code, and removes it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True, slots=True)
class Patch:
    """Replaces the ``attribute`` of ``owner``, a class or module, or the name of one that needs an extra.

    ``wrong`` is called in place of a function, or of a property's getter: with the right one, then with its arguments.
    Any other attribute becomes what ``wrong`` makes of it.
    """

    name: str
    owner: Any
    attribute: str
    wrong: Callable[..., Any]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Plant it for the duration of the context."""
        owner = resolve_name(self.owner) if isinstance(self.owner, str) else self.owner
        right = vars(owner)[self.attribute]
        setattr(owner, self.attribute, self._planted(right))
        try:
            yield
        finally:
            setattr(owner, self.attribute, right)

    def _planted(self, right: Any) -> Any:
        if isinstance(right, property):
            return property(partial(self.wrong, right.fget))
        if not callable(right):
            return self.wrong(right)
        return lambda *arguments, **named: self.wrong(right, *arguments, **named)
