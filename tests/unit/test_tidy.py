"""STYLE.md as a test: what a reader of the code can rely on, and no reviewer has to say."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from callboard import errors

ROOT = Path(__file__).resolve().parents[2]

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60

LONG_FUNCTIONS: dict[str, str] = {}
"""``path:function`` of those that may be longer, and why."""

EMPTY_NAMES = re.compile(r"(^|_)(utils?|common|helpers?|misc|managers?)($|_)", re.IGNORECASE)
EMPTY_CLASS_NAMES = re.compile(r"(Utils?|Common|Helpers?|Misc|Manager)$")

UNFINISHED = re.compile(r"\b(T[O]DO|FIX[M]E|X[X]X|raise NotImplemented[E]rror)\b")

MACHINES = re.compile(
    r"(?<![\w.])/(work|farm|root|opt/pypi|home/\w+)/"
    r"|--(extra-)?index-url|\bpypi\.org|pythonhosted\.org|registry\.npmjs|repo1?\.maven"
)
"""Paths of somebody's machine, and hosts of package registries."""

MAY_TELL_TIME = ("callboard/board/", "callboard/cli/", "callboard/actors/runtime/", "callboard/testing/")
CLOCK = {"time.time", "time.time_ns", "datetime.date.today"} | {
    f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")
}
MORE_CLOCK = {"time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns"}
DICE = ("random.", "secrets.", "uuid.uuid", "os.urandom")

ACTOR_TABLE = ("Receives", "Sends", "Stores", "Timers", "Gives up")


def sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Every hand-written Python file of these folders, by its path from the root."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "_pb" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), parsed(path)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def texts() -> Iterator[tuple[str, str]]:
    """Every text that is published."""
    paths = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]  # a file in a worktree
    for folder in (".ci", "benchmarks", "callboard", "deploy", "docs", "tests"):
        paths += [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    for path in sorted(paths):
        try:
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Every call of something imported, by its full name: ``datetime.datetime.now``, however imported."""
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.partition(".")[0]
                imported |= {name.asname: name.name} if name.asname else {top: top}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, dot, rest = ast.unparse(node.func).partition(".")
            if first in imported:
                yield node, imported[first] + dot + rest


def classes_with(tree: ast.Module, method: str) -> list[ast.ClassDef]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(isinstance(item, ast.FunctionDef) and item.name == method for item in node.body)
    ]


def demand_none(found: list[str]) -> None:
    assert not found, "\n" + "\n".join(found)


def test_no_file_is_longer_than_500_lines():
    counted = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines())
               for path, _ in sources("callboard", "tests", "benchmarks")}
    demand_none([f"{path} has {lines}" for path, lines in counted.items() if lines > FILE_LINES_MAX])


def test_every_function_fits_on_a_screen():
    lengths = {
        f"{path}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path, tree in sources("callboard", "tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    long = {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}
    assert long.keys() == LONG_FUNCTIONS.keys(), f"too long, or no longer too long: {long}"


def test_every_name_says_something():
    paths = [path for path, _ in sources("callboard", "tests", "benchmarks")]
    empty = [path for path in paths if any(EMPTY_NAMES.search(Path(part).stem) for part in Path(path).parts)]
    empty += [
        f"{path}:{node.name}"
        for path, tree in sources("callboard")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and EMPTY_CLASS_NAMES.search(node.name)
    ]
    demand_none(empty)


def test_the_time_and_the_dice_come_in_as_arguments():
    demand_none([
        f"{path}:{call.lineno} calls {name}"
        for path, tree in sources("callboard")
        if not path.startswith(MAY_TELL_TIME)
        for call, name in calls(tree)
        if name in CLOCK or (name.startswith("random.") and not is_seeded(call, name))
    ])


def test_decisions_read_no_clock_and_roll_no_dice_of_any_kind():
    demand_none([
        f"{path}:{call.lineno} calls {name}"
        for path, tree in sources("callboard/actors/publisher", "callboard/actors/subscriber")
        if classes_with(tree, "receive")
        for call, name in calls(tree)
        if name in CLOCK | MORE_CLOCK or (name.startswith(DICE) and not is_seeded(call, name))
    ])


def is_seeded(call: ast.Call, name: str) -> bool:
    return name == "random.Random" and bool(call.args)


def test_nothing_is_left_unfinished():
    demand_none([
        f"{path}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if UNFINISHED.search(line)
    ])


def test_tests_wait_for_a_condition_and_never_for_a_time():
    blind = []
    for path, tree in sources("tests"):
        loops = [node for node in ast.walk(tree) if isinstance(node, ast.While)]
        polls = {id(node) for loop in loops for node in ast.walk(loop)}
        blind += [
            f"{path}:{call.lineno} sleeps outside a loop that looks for something"
            for call, name in calls(tree)
            if name in {"time.sleep", "asyncio.sleep"} and id(call) not in polls and is_positive(call.args[0])
        ]
    demand_none(blind)


def is_positive(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float) and value.value > 0


def test_the_folders_at_the_top_are_links_into_the_package():
    names = ("actors", "backends", "messages")
    links = {name: (ROOT / name).resolve() for name in names if (ROOT / name).is_symlink()}
    assert links == {name: ROOT / "callboard" / name for name in names}


def test_the_docstring_of_errors_draws_the_tree_of_the_exceptions():
    drawn: dict[str, str] = {}
    above = ["Exception"]
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"([│├└─ ]*)(\w+)(  |$)", line):
            depth = len(match[1]) // len("├── ")
            drawn[match[2]] = above[depth]
            above[depth + 1:] = [match[2]]
    defined = {
        name: kind.__base__.__name__
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, Exception)
    }
    assert drawn == defined


def test_every_actor_says_what_it_receives_sends_stores_times_and_when_it_gives_up():
    actors = {
        f"{path}:{actor.name}": ast.get_docstring(actor) or ""
        for path, tree in sources("callboard/actors/publisher", "callboard/actors/subscriber")
        for actor in classes_with(tree, "receive")
    }
    assert actors, "no actors found: has `receive` been renamed?"
    missing = {
        name: [word for word in ACTOR_TABLE if not re.search(rf"\b{word}\b", docstring, re.IGNORECASE)]
        for name, docstring in actors.items()
    }
    demand_none([f"{name} does not say: {', '.join(words)}" for name, words in missing.items() if words])


def test_no_file_names_a_machine_or_a_package_registry():
    demand_none([
        f"{path}:{number}: {match[0]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := MACHINES.search(line))
    ])


def test_a_library_does_not_print_where_it_was_not_asked_to() -> None:
    """Nobody but the command line takes it for granted that structlog is configured: ``callboard.logger`` looks."""
    library = ((path, tree) for path, tree in sources("callboard") if not path.startswith("callboard/cli/"))
    named = {path for path, tree in library if "structlog.get_logger" in (name for _, name in calls(tree))}
    assert named == {"callboard/logger.py"}


def test_text_for_people_is_made_where_it_is_escaped():
    """``output.text`` escapes; rich's own texts and consoles do not."""
    bare = {"rich.console.Console", "rich.text.Text.assemble", "rich.text.Text.from_markup"}
    may = {"callboard/cli/terminal/output.py", "callboard/cli/terminal/screen.py"}
    demand_none([
        f"{path}:{call.lineno} calls {name}"
        for path, tree in sources("callboard/cli")
        if path not in may
        for call, name in calls(tree)
        if name in bare or (name == "rich.text.Text" and not isinstance(call.args[0], ast.Constant))
    ])
