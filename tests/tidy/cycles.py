"""No module imports itself by way of others: what is in a circle can only be understood, and changed, as a whole."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from tests.tidy.sources import Sources, modules, nodes

EXCUSED: Mapping[str, str] = {}
"""A module that may import what imports it, and why."""


def no_module_imports_itself(sources: Sources) -> list[str]:
    """By way of others, imports inside functions and for type checkers included."""
    trees = {_name(path): tree for path, tree in modules(sources, "callboard")}
    knows = {name: set(_imported(tree, trees)) - {name} for name, tree in trees.items() if name not in EXCUSED}
    try:
        TopologicalSorter(knows).prepare()
    except CycleError as error:
        return [f"{' -> '.join(reversed(error.args[1]))}: have them share what a third module knows"]
    return []


def _name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(tree: ast.Module, known: Mapping[str, ast.Module]) -> Iterator[str]:
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else node.module
