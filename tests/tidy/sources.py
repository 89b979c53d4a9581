"""What the rules of STYLE.md are held against: files by their paths, those of this repository or made-up ones."""

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Sources = Mapping[str, str]
"""What is in files, by their paths from the root."""

Rule = Callable[[Sources], list[str]]
"""Finds what is against it, a line for each place."""


@cache
def repository() -> Sources:
    """Every text that is published."""
    paths = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]  # a file in a worktree
    for folder in (".ci", "benchmarks", "callboard", "deploy", "docs", "tests"):
        paths += [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    texts = {}
    for path in sorted(paths):
        try:
            texts[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return texts


def modules(sources: Sources, *folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Every hand-written Python file of these folders."""
    for path in named(sources, *folders):
        yield path, parsed(sources[path])


def named(sources: Sources, *folders: str) -> list[str]:
    """The paths of the hand-written Python files of these folders."""
    inside = tuple(f"{folder}/" for folder in folders)
    return [path for path in sources if path.startswith(inside) and path.endswith(".py") and "/_pb/" not in path]


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))


def imported(tree: ast.Module) -> dict[str, str]:
    """The names that a module gives to what it imports, and the full names of that."""
    names: dict[str, str] = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.partition(".")[0]
                names |= {name.asname: name.name} if name.asname else {top: top}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return names


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Every call by name, and its full name however it was imported: ``datetime.datetime.now``, ``open``."""
    names = imported(tree)
    for node in nodes(tree):
        if isinstance(node, ast.Call) and (name := dotted(node.func)):
            first, dot, rest = name.partition(".")
            yield node, names.get(first, first) + dot + rest


def dotted(node: ast.expr) -> str:
    """``a.b.c``, or nothing if it is no plain name."""
    if isinstance(node, ast.Attribute):
        return f"{above}.{node.attr}" if (above := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


def classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in nodes(tree) if isinstance(node, ast.ClassDef)]


def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """In lines."""
    return (node.end_lineno or node.lineno) - node.lineno + 1
