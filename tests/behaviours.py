"""docs/behaviours.md: what callboard does, and the tests that prove it."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "behaviours.md"

HEAD = """\
# Behaviours

What callboard does, and the tests that prove it. `make behaviours` runs them and writes this page. A line is *green*
if all of its tests passed, *red* if one failed, and *not run* if some did not run. A line without tests has a reason.
"""
PARTS = {
    "F": ("What the original does", "The features of Apache Sling's journal, in the order of its parts."),
    "W": ("Weaknesses of the original", "*What it does*, and what callboard does instead."),
    "R": ("Bugs of the original", "Races and bugs that were fixed in it over the years."),
    "P": ("Publishing", "What a publisher sends. See [reference.md](reference.md#only-what-changed)."),
    "T": ("Clusters", "What Apache Sling's discovery of instances does, and more. See [topology.md](topology.md)."),
    "J": ("Jobs, schedules and events", "What Apache Sling's jobs and events do, and more. See [jobs.md](jobs.md)."),
    "S": ("Sites", "What a centre sees and commands behind relays. See [relays.md](relays.md)."),
    "A": ("Actors of a service's own", "Entities, processes, projections and reactions. See [actors.md](actors.md)."),
}
LINE = re.compile(r"\| ([A-Z][0-9]+) \|.*\| ([^|]+) \|$", re.MULTILINE)
GREEN, RED, NOT_RUN, UNTESTED = "green", "red", "not run", "by decision"


@dataclass(frozen=True)
class Behaviour:
    """A row of behaviours.toml."""

    name: str
    text: str
    was: str = ""
    reason: str = ""


def behaviours() -> list[Behaviour]:
    """All rows, in the order of the file."""
    rows = tomllib.loads((ROOT / "tests" / "behaviours.toml").read_text(encoding="utf-8"))
    return [Behaviour(name, row["is"], row.get("was", ""), row.get("reason", "")) for name, row in rows.items()]


def marks() -> dict[str, list[str]]:
    """By behaviour, the tests that prove it, as ``file::function``: every mark that is in the files."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for function, name in _marked(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(name, []).append(f"{path.relative_to(ROOT).as_posix()}::{function}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.proves":
                    yield from ((node.name, ast.literal_eval(name)) for name in mark.args)


def page(states: Mapping[str, str]) -> str:
    """The whole page, with the state of each behaviour."""
    tests, parts = marks(), [HEAD]
    rows = behaviours()
    for letter, (title, about) in PARTS.items():
        parts.append(f"\n## {title}\n\n{about}\n\n| | behaviour | proved by | |\n|---|---|---|---|\n")
        parts += [_line(row, tests.get(row.name, ()), states) for row in rows if row.name.startswith(letter)]
    return "".join(parts)


def _line(row: Behaviour, tests: Iterable[str], states: Mapping[str, str]) -> str:
    text = f"*{row.was}* {row.text}" if row.was else row.text
    proof = "<br>".join(_link(test) for test in tests) or row.reason
    return f"| {row.name} | {text} | {proof} | {states.get(row.name, NOT_RUN) if tests else UNTESTED} |\n"


def _link(test: str) -> str:
    path, _, function = test.partition("::")
    return f"[{function.removeprefix('test_').replace('_', ' ')}](../{path})"


def states(text: str) -> dict[str, str]:
    """Those on a page."""
    return dict(LINE.findall(text))


def judged(outcomes: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The states, if tests ended like this."""
    found = {}
    for name, tests in marks().items():
        ended = [set(outcomes.get(test, ())) for test in tests]
        if any("failed" in each for each in ended):
            found[name] = RED
        else:
            found[name] = GREEN if all(each == {"passed"} for each in ended) else NOT_RUN
    return found
