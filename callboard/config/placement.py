"""Where a publisher's folders go at subscribers, as set in callboard.toml by hand or by ``publish --at``."""

import fcntl
import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from callboard.backends.local.disk import replacing
from callboard.config import Loaded
from callboard.errors import ConfigError


class Placement(NamedTuple):
    """``at`` is where the folder goes, ``name`` its name on the log, None if it is not in callboard.toml."""

    at: str
    name: str | None


def placement(loaded: Loaded, publisher: str, folder: Path, at: str = "") -> Placement:
    """Where this folder of the publisher goes: ``at`` if that is given.

    A folder in the file is known on the log by its path relative to the file, on any host.
    """
    section = loaded.config.publishers.get(publisher)
    places = {_real(loaded.base / key): place for key, place in (section.sources if section else {}).items()}
    own = loaded.config.publisher
    if own.source and own.name == publisher:
        places.setdefault(_real(Path(own.source)), "/")
    known = places.get(_real(folder))
    named = loaded.file is not None and bool(known or at)
    return Placement(at or known or "/", _recorded(loaded.base, folder) if named else None)


def remember(loaded: Loaded, publisher: str, folder: Path, at: str) -> str:
    """Save where the folder goes, unless it is already saved; returns the file's name if it was written.

    Everything else in the file stays as it is, comments included.

    Raises:
        ConfigError: there is no file, or it cannot be written; the message says what to do.
    """
    section = loaded.config.publishers.get(publisher)
    known = {_real(loaded.base / key): (key, place) for key, place in (section.sources if section else {}).items()}
    key, place = known.get(_real(folder), (_recorded(loaded.base, folder), ""))
    if place == at:
        return ""
    line = f"{_quoted(key)} = {_quoted(at)}"
    heading = f"[publishers.{_quoted(publisher)}.sources]"
    if loaded.file is None:
        raise ConfigError("there is no callboard.toml to record it in; use --at each time, or run `callboard init`")
    file = loaded.base / loaded.file.name
    try:
        with _alone(file):
            text = file.read_text(encoding="utf-8")
            _write(file, _with(text, publisher, key, at, heading, line))
    except (OSError, UnicodeError, ValueError) as error:
        problem = f"{file} cannot be written: {error}"
        raise ConfigError(f"{problem}; add to it yourself: {heading} {line}") from error
    return file.name


def _with(text: str, publisher: str, key: str, at: str, heading: str, line: str) -> str:
    """The text with the line in its section. Raises ``ValueError`` if that would take a parser."""
    wanted = tomllib.loads(text)
    sources = wanted.setdefault("publishers", {}).setdefault(publisher, {}).setdefault("sources", {})
    sources[key] = at
    found: list[str] = []
    at_heading, seen = False, False
    for old in text.splitlines(keepends=True):
        if re.match(r"\s*\[", old):
            at_heading = _is_heading(old, publisher)
        if at_heading and _sets(old, key):
            continue
        found.append(old if old.endswith("\n") else old + "\n")
        if at_heading and not seen:
            found.append(line + "\n")
            seen = True
    if not seen:
        found.append(f"\n{heading}\n{line}\n")
    new = "".join(found)
    if tomllib.loads(new) != wanted:
        raise ValueError("its sections are too unusual to edit automatically")
    return new


def _is_heading(line: str, publisher: str) -> bool:
    with suppress(ValueError):
        tables: dict[str, Any] = tomllib.loads(line)
        return tables == {"publishers": {publisher: {"sources": {}}}}
    return False


def _sets(line: str, key: str) -> bool:
    with suppress(ValueError):
        return list(tomllib.loads(line)) == [key]
    return False


def _write(file: Path, text: str) -> None:
    """Replace the file atomically."""
    target = file.resolve()
    with replacing(target) as new:
        os.fchmod(new.fileno(), target.stat().st_mode & 0o7777)
        new.write(text.encode())


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Keep other processes from writing to the file."""
    folder = os.open(file.resolve().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _real(folder: Path) -> str:
    return os.path.realpath(folder)


def _recorded(base: Path, folder: Path) -> str:
    """The path relative to the file's folder if it lies below, else the absolute path."""
    real, top = Path(_real(folder)), Path(_real(base))
    return f"./{real.relative_to(top).as_posix()}" if real.is_relative_to(top) and real != top else str(real)


def _quoted(text: str) -> str:
    """The text as TOML, quoted only if needed."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text, ensure_ascii=False)
