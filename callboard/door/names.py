"""Suggestions and the error for unknown names."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from callboard.errors import RequestRefused

NAMED_MAX = 20
"""Known names listed in the error."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or the empty text."""
    return next(iter(get_close_matches(name, list(known), n=1)), "")


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """What to do about an unknown name: the known one that was probably meant, or else this."""
    close = suggestion(name, known)
    return f"did you mean {close!r}?" if close else otherwise


def unknown(what: str, name: str, known: Collection[str], then: str = "") -> RequestRefused:
    """The error for a name that is unknown on this log; ``then`` says what else can be done."""
    close, names = suggestion(name, known), sorted(known)
    if close:
        advice = f"did you mean {close!r}?"
    else:
        more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        advice = f"known: {', '.join(names[:NAMED_MAX]) or 'none yet'}{more}"
    end = "." if then and not close else ""
    return RequestRefused(f"no {what} {name!r} was ever heard of on this log; {advice}{end}{then}", code="unknown_name")
