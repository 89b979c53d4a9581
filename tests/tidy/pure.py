"""Clock, dice and I/O are arguments: everywhere below the board the first two, in what actors decide all of them."""

import ast

from tests.tidy.sources import Sources, calls, imported, modules

MAY_TELL_TIME = ("callboard/board/", "callboard/cli/", "callboard/actors/runtime/", "callboard/testing/")
CLOCK = {"time.time", "time.time_ns", "datetime.date.today"} | {
    f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")
}

CARRY_OUT = ("callboard/actors/__init__.py", "callboard/actors/runtime/", "callboard/actors/worlds/")
PURE = {
    "array",
    "bisect",
    "collections",
    "cronsim",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "random.Random",
    "shlex",
    "sys.byteorder",
    "sys.maxsize",
    "types.MappingProxyType",
    "typing",
    "zlib",
    "zoneinfo.ZoneInfo",
    "callboard",
}
"""What a decision may import. What does I/O, tells the time or rolls dice is not among it; ``json`` reads and writes
only what it is given, and ``ZoneInfo`` reads a table that stays as it is, and the fold does not use it.
"""
IMPURE = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
"""What does I/O without any import."""


def time_and_dice_come_in_as_arguments(sources: Sources) -> list[str]:
    return [
        f"{path}:{call.lineno} calls {name}"
        for path, tree in modules(sources, "callboard")
        if not path.startswith(MAY_TELL_TIME)
        for call, name in calls(tree)
        if name in CLOCK or (name.startswith("random.") and not is_seeded(call, name))
    ]


def decisions_do_nothing_themselves(sources: Sources) -> list[str]:
    decisions = [(path, tree) for path, tree in modules(sources, "callboard/actors") if not path.startswith(CARRY_OUT)]
    found = [
        f"{path} imports {name}"
        for path, tree in decisions
        for name in sorted(imported(tree).values())
        if name not in PURE and name.partition(".")[0] not in PURE
    ]
    return found + [
        f"{path}:{call.lineno} calls {name}"
        for path, tree in decisions
        for call, name in calls(tree)
        if name in IMPURE | CLOCK or (name.startswith("random.") and not is_seeded(call, name))
    ]


def is_seeded(call: ast.Call, name: str) -> bool:
    return name == "random.Random" and bool(call.args)
