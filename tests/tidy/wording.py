"""Names, texts and docstrings."""

import ast
import re
from pathlib import PurePosixPath

from tests.tidy.sources import Sources, classes, modules, named, parsed

EMPTY_NAMES = re.compile(r"(^|_)(utils?|common|helpers?|misc|managers?)($|_)", re.IGNORECASE)
EMPTY_CLASS_NAMES = re.compile(r"(Utils?|Common|Helpers?|Misc|Manager)$")

UNFINISHED = re.compile(r"\b(T[O]DO|FIX[M]E|X[X]X|raise NotImplemented[E]rror)\b")

MACHINES = re.compile(
    r"(?<![\w.])/(work|farm|root|opt/pypi|home/\w+)/"
    r"|--(extra-)?index-url|\bpypi\.org|pythonhosted\.org|registry\.npmjs|repo1?\.maven"
)
"""Paths of a developer's machine, and hosts of package registries."""

ACTOR_TABLE = ("Receives", "Sends", "Stores", "Timers", "Gives up")


def every_name_says_something(sources: Sources) -> list[str]:
    paths = named(sources, "callboard", "tests", "benchmarks")
    parts = {path: PurePosixPath(path).with_suffix("").parts for path in paths}
    empty = [path for path in paths if any(EMPTY_NAMES.search(part) for part in parts[path])]
    return empty + [
        f"{path}:{node.name}"
        for path, tree in modules(sources, "callboard")
        for node in classes(tree)
        if EMPTY_CLASS_NAMES.search(node.name)
    ]


def nothing_is_left_unfinished(sources: Sources) -> list[str]:
    return lines_with(UNFINISHED, sources)


def no_file_names_a_machine_or_a_package_registry(sources: Sources) -> list[str]:
    return lines_with(MACHINES, sources)


def lines_with(pattern: re.Pattern[str], sources: Sources) -> list[str]:
    return [
        f"{path}:{number}: {match[0]}"
        for path, text in sources.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := pattern.search(line))
    ]


def every_actor_says_what_it_does_and_when_it_gives_up(sources: Sources) -> list[str]:
    actors = {
        f"{path}:{node.name}": ast.get_docstring(node) or ""
        for path, tree in modules(sources, "callboard/actors/publisher", "callboard/actors/subscriber")
        for node in classes(tree)
        if any(isinstance(item, ast.FunctionDef) and item.name == "receive" for item in node.body)
    }
    if not actors:
        return ["no actors found: has `receive` been renamed?"]
    missing = {
        name: [word for word in ACTOR_TABLE if not re.search(rf"\b{word}\b", docstring, re.IGNORECASE)]
        for name, docstring in actors.items()
    }
    return [f"{name} does not say: {', '.join(words)}" for name, words in missing.items() if words]


def the_docstring_of_errors_draws_their_tree(sources: Sources) -> list[str]:
    tree = parsed(sources["callboard/errors.py"])
    drawn: dict[str, str] = {}
    above = ["Exception"]
    for line in (ast.get_docstring(tree) or "").splitlines():
        if match := re.match(r"([│├└─ ]*)(\w+)(  |$)", line):
            depth = len(match[1]) // len("├── ")
            drawn[match[2]] = above[depth]
            above[depth + 1 :] = [match[2]]
    bases = {node.name: ast.unparse(node.bases[0]) for node in classes(tree) if node.bases}
    defined = {name: base for name, base in bases.items() if base in bases or base == "Exception"}
    return [f"errors.py: {name} below {base}" for name, base in sorted(drawn.items() ^ defined.items())]
