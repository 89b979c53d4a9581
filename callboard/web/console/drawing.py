"""Draws pages by their templates. Text from others is escaped here: for HTML, and what a reader would not see."""

import time
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from callboard.board.read.sites.report import in_words
from callboard.escaping import escaped
from callboard.units import age, count, size
from callboard.version import __version__

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


@cache
def environment() -> Environment:
    """The templates."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, finalize=_finally,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters |= {"age": age, "size": size, "count": count, "clock": clock, "segment": segment, "query": query,
                     "number": number, "site": in_words}  # fmt: skip
    made.globals |= {"version": __version__, "static": static_digest()}
    return made


@cache
def static_digest() -> str:
    """Changes with the static files, so that browsers may keep them."""
    return sha256(b"".join(path.read_bytes() for path in sorted(STATIC.iterdir()))).hexdigest()[:16]


def _finally(value: Any) -> Any:
    return value if isinstance(value, Markup) else escaped(value) if isinstance(value, str) else value


def draw(template: str, **shown: Any) -> str:
    """The template with these values."""
    return environment().get_template(template).render(**shown)


def segment(name: str) -> str:
    """The name as one segment of a path."""
    return quote(name, safe="")


def query(values: dict[str, Any], **changes: Any) -> str:
    """The values, with these changes, behind a question mark, without those that are empty."""
    kept = {name: value for name, value in (values | changes).items() if value not in ("", None)}
    return f"?{urlencode(kept)}" if kept else ""


def clock(time_ns: int) -> str:
    """A moment, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time_ns / 1e9)) if time_ns > 0 else "never"


def number(value: int) -> str:
    """A number for people: ``1,204``."""
    return f"{value:,}"
