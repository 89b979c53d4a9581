"""What an action is: what it needs, what it would do, and how it is done."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callboard.door.names import meant
from callboard.door.rules import shown
from callboard.errors import RequestRefused
from callboard.web.console.page import Question

if TYPE_CHECKING:
    from callboard.board.board import Callboard

WAIT_S = 10.0
"""How long the result of a command is waited for. After that it stands without an answer."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What an action needs; a whole number from 0 to ``most``, if that is given. The link to its form says it, unless
    the form ``asks`` for it.
    """

    name: str
    label: str
    most: int | None = None
    asks: bool = False
    is_needed: bool = True

    def read(self, text: str) -> str | int:
        """The value. Raises ``RequestRefused`` for a wrong number; the board checks the rest."""
        if self.most is None:
            return text
        is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(self.most))
        if not is_whole or int(text) > self.most:
            why = f"{self.name} is {shown(text)}, but should be a whole number from 0 to {self.most}"
            raise RequestRefused(why, code="invalid")
        return int(text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it, in words. ``accepted`` is None if that is not known; a command then stands."""

    accepted: bool | None
    text: str


Values = Mapping[str, Any]
"""Parameters by name; those that were not given are missing."""


@dataclass(frozen=True, slots=True)
class Action:
    """What an operator may do; it is ``dangerous`` if it cannot be undone.

    ``does`` says what that is, in a sentence. ``foresee`` says what it would do now, and gives the parameters of that,
    so that later nothing else is done; it raises ``RequestRefused`` if it cannot be done.
    """

    name: str
    label: str
    does: str
    parameters: tuple[Parameter, ...]
    foresee: Callable[[Question, Values], Awaitable[tuple[str, Values]]]
    perform: Callable[["Callboard", Values, str, str], Awaitable[Outcome]]
    dangerous: bool = False

    def values(self, given: Mapping[str, str], *, asked: bool) -> Values:
        """The parameters, as they were given as text; with those that the form asks for, if it has ``asked``.

        Raises:
            RequestRefused: one is missing, unknown, or no number.
        """
        known = {each.name: each for each in self.parameters if asked or not each.asks}
        for name in given:
            if name not in known:
                then = meant(name, known, f"it has {', '.join(known)}")
                raise RequestRefused(f"{self.name} has no parameter {shown(name)}; {then}", code="invalid")
        for each in known.values():
            if each.is_needed and not given.get(each.name, "").strip():
                raise RequestRefused(f"{self.name} needs {each.label.lower()}; give it", code="invalid")
        return {name: each.read(text) for name, each in known.items() if (text := given.get(name, "").strip())}

    def target(self, values: Values) -> dict[str, Any]:
        """What it acts on."""
        return {each.name: values[each.name] for each in self.parameters if not each.asks and each.name in values}

    def title(self, target: Values) -> str:
        """What is done to what: ``Skip berlin, offset 12``."""
        (_, first), *others = target.items()
        return ", ".join((f"{self.label} {first}", *(f"{name} {value}" for name, value in others)))
