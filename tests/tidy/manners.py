"""Tests that wait, a library that is quiet, and a terminal that is safe."""

import ast

from tests.tidy.sources import Sources, calls, modules, nodes

CONFIGURES_STRUCTLOG = "callboard/logger.py"
ESCAPE = {"callboard/cli/terminal/output.py", "callboard/cli/terminal/screen.py"}
BARE = {"rich.console.Console", "rich.text.Text.assemble", "rich.text.Text.from_markup"}


def tests_wait_for_a_condition_and_never_for_a_time(sources: Sources) -> list[str]:
    blind = []
    for path, tree in modules(sources, "tests"):
        loops = [node for node in nodes(tree) if isinstance(node, ast.While)]
        polls = {id(node) for loop in loops for node in ast.walk(loop)}
        blind += [
            f"{path}:{call.lineno} sleeps outside a loop that looks for something"
            for call, name in calls(tree)
            if name in {"time.sleep", "asyncio.sleep"} and id(call) not in polls and is_positive(call.args[0])
        ]
    return blind


def is_positive(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float) and value.value > 0


def a_library_does_not_print_where_it_was_not_asked_to(sources: Sources) -> list[str]:
    """Only the command line may assume that structlog is configured: ``callboard.logger`` checks."""
    return [
        f"{path}:{call.lineno} calls {name}"
        for path, tree in modules(sources, "callboard")
        if path != CONFIGURES_STRUCTLOG and not path.startswith("callboard/cli/")
        for call, name in calls(tree)
        if name == "structlog.get_logger"
    ]


def text_for_people_is_made_where_it_is_escaped(sources: Sources) -> list[str]:
    """``output.text`` escapes; rich's own texts and consoles do not."""
    return [
        f"{path}:{call.lineno} calls {name}"
        for path, tree in modules(sources, "callboard/cli")
        if path not in ESCAPE
        for call, name in calls(tree)
        if name in BARE or (name == "rich.text.Text" and not isinstance(call.args[0], ast.Constant))
    ]
