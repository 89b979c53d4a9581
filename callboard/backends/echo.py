"""Masks secrets in foreign text, such as the errors of a driver: they may repeat passwords from a URL."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from reprlib import Repr
from urllib.parse import unquote_plus

from callboard.backends.address import HIDDEN, decoded, shown

GRAM_CHARS = 4
"""A fragment of a password of this length already reveals something."""

HUGE_BITS = 256
"""A larger number is shown by its size: Python refuses to print more than 4300 digits."""

_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+[^\s'\"]*(?<![.,;:)])")
"""An address somewhere in a text."""
_TELLING = re.compile(r"[@=]|%40|%3[ad]|:/|//", re.IGNORECASE)
"""Marks a text that may be an address."""


def masked(said: object, *addresses: str, known: str = "", password: str = "") -> str:
    """The text with all repeated secrets masked.

    Args:
        said: a text or an error.
        *addresses: the addresses that it may repeat; the parts that may be shown stay.
        known: words that stay although an address has them, such as the names of options.
        password: one that was given separately.
    """
    text = _IN_TEXT.sub(lambda match: shown(match[0]), str(said))
    folded, grams = _folded(text), _hidden_grams(addresses, known, password)
    struck = [False] * len(text)
    for start in range(len(text) - GRAM_CHARS + 1):
        if folded[start : start + GRAM_CHARS] in grams:
            struck[start : start + GRAM_CHARS] = [True] * GRAM_CHARS
    kept = ("\0" if strike else letter for letter, strike in zip(text, struck, strict=True))
    return re.sub("\0+", HIDDEN, "".join(kept))


def harmless(error: BaseException, *addresses: str, known: str = "") -> BaseException | None:
    """The error, for use as a cause; None if it or one of its own causes repeats a secret."""
    behind = [error]
    for each in behind:
        said = f"{each} {each!r}"
        if masked(said, *addresses, known=known) != said:
            return None
        behind += [other for other in (each.__cause__, each.__context__) if other is not None and other not in behind]
    return error


def quoted(value: object) -> str:
    """A value for people: its ``repr``, short, and without the secret parts of any address in it."""
    return _SHORT.repr(value)


def _hidden_grams(addresses: Iterable[str], known: str, password: str) -> set[str]:
    found, spared = _grams(password), _grams(known) - _grams(password)
    for each in addresses:
        spared |= _grams(shown(each))
        for form in (each, unquote_plus(each), decoded(each)):
            found |= _grams(form)
    return found - spared


def _grams(text: str) -> set[str]:
    folded = _folded(text)
    return {folded[start : start + GRAM_CHARS] for start in range(len(folded) - GRAM_CHARS + 1)}


def _folded(text: str) -> str:
    """In lower case, with every character in its place."""
    return "".join(letter.lower()[:1] for letter in text)


class _Short(Repr):
    def repr_str(self, text: str, level: int) -> str:
        """The text as it may be shown, if it may be an address."""
        return super().repr_str(shown(text) if _TELLING.search(decoded(text)) else text, level)

    def repr_int(self, value: int, level: int) -> str:
        """As usual, unless it is huge."""
        return super().repr_int(value, level) if value.bit_length() <= HUGE_BITS else f"{value.bit_length()} bits long"

    def repr_dict(self, value: dict[object, object], level: int) -> str:
        """Only its keys: the value of a key such as password must not be shown."""
        return f"{{{', '.join(f'{self.repr1(key, level - 1)}: {HIDDEN}' for key in list(value)[: self.maxdict])}}}"

    def repr_instance(self, value: object, level: int) -> str:
        """Any other value, unless it may contain an address."""
        if isinstance(value, Path):
            return f"{type(value).__name__}({self.repr_str(str(value), level)})"
        whole = _WHOLE.repr_instance(value, level)  # which, like this method, survives a repr that raises
        return f"a {type(value).__name__}" if _TELLING.search(decoded(whole)) else super().repr_instance(value, level)


_WHOLE = Repr()
_WHOLE.maxother = sys.maxsize
_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = 60
