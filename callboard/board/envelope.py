"""The envelope of what programs are told, by the command line with ``--json`` and by the API."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from callboard.board.page import Page
from callboard.errors import RequestRefused

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Status = Literal["ok", "attention", "error"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What else a program should know. The ``code`` stays when the words of the ``message`` change."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope(Generic[T_co]):
    """One document.

    Attributes:
        version: of the envelope.
        status: ``ok``; ``attention`` if it was done, but something is found, missing or not so; ``error`` if it failed.
        data: the answer; null if there is none.
        diagnostics: errors, and what the answer lacks.
    """

    version: Literal[1] = 1
    status: Status = "ok"
    data: T_co
    diagnostics: tuple[Diagnostic, ...] = ()


def enclosed(answer: T, status: Status = "ok", beside: Iterable[Diagnostic] = ()) -> Envelope[T]:
    """The answer in its envelope. One that tells of a problem is not ``ok``."""
    diagnostics = (*_told(answer), *beside)
    is_well = all(each.code != "problem" for each in diagnostics)
    return Envelope(
        status="attention" if status == "ok" and not is_well else status, data=answer, diagnostics=diagnostics
    )


def _told(answer: object) -> Iterator[Diagnostic]:
    """What the answer itself says that it lacks, or what is wrong."""
    said = fields_of(answer) if is_dataclass(answer) else answer if isinstance(answer, Mapping) else {}
    for code in ("problem", "missing"):
        if text := said.get(code):
            yield Diagnostic(code, str(text))
    yield from (Diagnostic("note", str(each)) for each in said.get("notes", ()))


def written(answer: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """The answer as JSON. What is not finite is null there: JSON has no such numbers.

    Raises ``RequestRefused`` for payloads that others have nested as deep as they can be read.
    """
    try:
        return json.dumps(answer, default=fields_of, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except RecursionError:
        raise RequestRefused("a payload in the answer is nested too deep to be shown", code="too_large") from None
    except ValueError:
        finite = json.loads(json.dumps(answer, default=fields_of), parse_constant=lambda _: None)
        return json.dumps(finite, indent=indent, ensure_ascii=ascii_only)


def fields_of(value: Any) -> Any:
    """A view, or anything else in one that JSON does not know, as what JSON knows; not what is in it."""
    if is_dataclass(value):
        names, enums = _names(value.__class__)
        data = {name: getattr(value, name) for name in names}
        for name in enums:
            data[name] = data[name].name.lower()
        return data | {"complete": value.complete} if isinstance(value, Page) else data
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} is not for JSON")


@cache
def _names(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields, and of those with enums of numbers."""
    its = fields(kind)
    enums = [each.name for each in its if isinstance(each.type, type) and issubclass(each.type, IntEnum)]
    return tuple(each.name for each in its), tuple(enums)
