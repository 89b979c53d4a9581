"""Fuzz the public API with invalid calls: ``calls.py COUNT``; exits with 1 if one breaks something.

Each call, through ``callboard.sync`` to a board with a running subscriber, does what it says or raises an error of
callboard's (or ``TypeError`` for arguments that there are not). No actor crashes, no agent ends, and the next good call
works. Methods and their arguments are found by themselves, so what is added to the API is fuzzed, too.
"""

import inspect
import math
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from callboard import Callboard, Publishing, sync
from callboard.actors.core.backoff import Backoff
from callboard.backends.log import Retention
from callboard.board.care.retention_gate import GatePolicy
from callboard.board.command.commands import CommandOptions
from callboard.board.connect.subscriber_options import SubscriberOptions
from callboard.board.publisher import RequestOptions
from callboard.errors import CallboardError
from callboard.sync.events import BoardEvents
from callboard.testing import boards
from callboard.web import Access, Provider, User, board_app, board_lifespan, health_app

BATCH = 1000
"""Calls on one board: its log grows with them."""
GOOD_S = 30.0
"""Far beyond what a good call takes, so that only a defect meets it."""
REPORT_EVERY = 50
NOT_CALLED = {"start", "stop", "ended", "close", "leave"}
"""They begin and end what the others need, or wait for the end."""
OPTIONS = {"publish": RequestOptions, "delete": RequestOptions, "invalidate": RequestOptions, "test": RequestOptions}
NEW: dict[str, Callable[..., Any]] = {
    "Callboard": sync.Callboard, "Publishing": Publishing, "User": User, "Access": Access, "Provider": Provider,
    "board_app": board_app, "board_lifespan": board_lifespan, "health_app": health_app,
    "MemoryBoard": boards.MemoryBoard, "assert_published": boards.assert_published, "published": boards.published,
}  # fmt: skip
"""Called on nothing."""
SIGNATURE = re.compile(r"unexpected keyword argument|missing \d|positional argument|^there is no '")
"""What a ``TypeError`` may be about."""
CRASHES = ("actor.crashed", "supervisor.crashed", "gateway.failed", "agent.close_failed")


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("cannot be shown")


def endless() -> Iterator[str]:
    while True:
        yield "/a"


HOSTILE = st.one_of(
    st.sampled_from(
        [None, True, False, 0, -1, 1, 1 << 63, 1 << 64, -(1 << 64), 10**400, 0.0, -0.5, 1e300, math.nan, math.inf,
         "", "a\0b", "\udc80", "\x1b[2J", "\u202egde", "edge-1", "nonsense", "/a", "/../a", "x" * 100_000, b"edge-1",
         Path(), Path("/nowhere"), [], [None], ["a", 7], [["/"]], {}, object, {"k": 7}, {7: "v"}, {"k": "\0"}, {"/a"}]
    ),
    st.builds(object), st.builds(Rude), st.builds(endless), st.integers(), st.floats(), st.text(max_size=5),
    st.binary(max_size=3), st.lists(st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2),
)  # fmt: skip

NAME = st.sampled_from(["edge-1", "edge-9", "site"])
NAMES = st.lists(NAME, max_size=2)
WORDS = st.text(max_size=5)
OFFSET = st.integers(0, 60)
FLAG = st.booleans()
SHORT = st.sampled_from([0, 0.01, 0.05])
SENSIBLE: dict[str, st.SearchStrategy[Any]] = {
    "name": NAME, "subscriber": NAME, "publisher": st.sampled_from(["", "site", "shop"]), "into": st.just("out-2"),
    "source": st.sampled_from(["site", Path("site"), "nowhere"]), "path": st.sampled_from(["/", "/a.txt"]),
    "paths": st.lists(st.sampled_from(["/", "/a.txt", "/b"]), max_size=2), "entry": st.just("callboard.package@3"),
    "offset": OFFSET, "up_to": st.none() | OFFSET, "first": st.none() | OFFSET, "limit": OFFSET, "cursor": WORDS,
    "timeout_s": SHORT, "deep": FLAG, "force": FLAG, "follow": st.just(False), "delete": FLAG, "dry_run": FLAG,
    "without_golden": FLAG, "packages_per_min": st.sampled_from([0, 10_000]), "kinds": st.just(["imported"]),
    "after": st.none() | st.integers(-1, 60), "to": NAMES, "recipients": NAMES, "request_id": WORDS, "user": WORDS,
    "author": WORDS, "reason": WORDS, "metadata": st.dictionaries(WORDS, WORDS, max_size=2),
    "grace_s": st.just(86_400.0), "retention": st.builds(Retention, below_offset=st.integers(0, 3)), "gate": st.none(),
    "policy": st.builds(GatePolicy), "follows": NAMES, "retry": st.builds(Backoff, SHORT, SHORT), "parallel": OFFSET,
    "log": st.just("memory:"), "start": st.sampled_from(["earliest", "latest", 3]), "outbox_max": OFFSET,
    "board": st.builds(Callboard, st.just("memory:")), "access": st.builds(Access), "role": st.just("viewer"),
    "users": st.just("users"), "header": st.just("X-User"), "proxies": st.just(["10.0.0.1"]), "viewers": NAMES,
    "discovery": st.just("https://id.example/"), "client_id": NAME, "secret_file": st.just("secret"),
}  # fmt: skip


@dataclass(frozen=True)
class Method:
    """``on`` is what it is called on; of ``wanted`` a call has all, of ``optional`` some."""

    on: str
    name: str
    wanted: tuple[str, ...]
    optional: tuple[str, ...]
    many: str = ""


@dataclass(frozen=True)
class Call:
    method: Method
    arguments: dict[str, Any]


def methods() -> Iterator[Method]:
    for on, kind in (("board", sync.Callboard), ("publisher", sync.Publisher), ("subscriber", sync.Subscriber)):
        for name, function in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and name not in NOT_CALLED:
                yield _method(on, name, function)
    yield _method("board", "events", BoardEvents.__call__)
    for name, function in NEW.items():
        yield _method("new", name, Callboard if name == "Callboard" else function)


def _method(on: str, name: str, function: Callable[..., Any]) -> Method:
    wanted, optional, many = list[str](), list[str](), ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            hints = SubscriberOptions if name == "subscriber" else OPTIONS.get(name, CommandOptions)
            optional += get_type_hints(hints)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            many = parameter.name
        elif parameter.name != "self":
            (wanted if parameter.default is parameter.empty else optional).append(parameter.name)
    return Method(on, name, tuple(wanted), tuple(optional), many)


METHODS = list(methods())


@st.composite
def calls(draw: st.DrawFn) -> Call:
    method = draw(st.sampled_from(METHODS))
    chosen = [*method.wanted, *draw(st.lists(st.sampled_from(method.optional), unique=True, max_size=4))] if (
        method.optional
    ) else list(method.wanted)  # fmt: skip
    if "timeout_s" in method.optional:
        chosen.append("timeout_s")  # otherwise it may wait as long as it is meant to
    arguments = {name: draw(_value(name)) for name in dict.fromkeys(chosen)}
    if method.many:
        arguments[method.many] = draw(st.lists(_value("path"), max_size=2))
    if draw(st.sampled_from(range(50))) == 7:
        arguments["no_such_argument"] = 1
    return Call(method, arguments)


def _value(name: str) -> st.SearchStrategy[Any]:
    known = SENSIBLE.get(name)
    if name == "timeout_s":
        bad = HOSTILE.filter(lambda it: isinstance(it, bool) or not isinstance(it, int | float) or not 0.05 < it <= 1e9)
        return st.sampled_from(range(6)).flatmap(lambda side: SHORT if side else bad)
    return HOSTILE if known is None else st.sampled_from(range(6)).flatmap(lambda side: known if side else HOSTILE)


@dataclass
class Bench:
    """A board with a subscriber, for as many calls as wanted."""

    board: sync.Callboard
    edge: sync.Subscriber
    logged: list[MutableMapping[str, Any]]
    made: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    came_of: dict[str, int] = field(default_factory=dict)

    def make(self, call: Call) -> None:
        """Make the call, then a good one. Raises ``AssertionError`` if anything is wrong."""
        began = time.perf_counter()
        try:
            self._call(call)
            outcome = "done"
        except CallboardError as error:
            outcome = type(error).__name__
        except TypeError as error:
            assert SIGNATURE.search(str(error)), f"{call} broke inside: {traceback.format_exc()}"
            outcome = "TypeError"
        took_s = time.perf_counter() - began
        self.made += 1
        self.came_of[outcome] = self.came_of.get(outcome, 0) + 1
        if took_s > self.slowest_s:
            self.slowest_s, self.slowest = took_s, f"{call.method.name} ({outcome})"
        crashed = [line for line in self.logged if line["event"] in CRASHES]
        assert not crashed, f"{call} crashed {crashed[0]}"
        self.logged.clear()
        assert self.board.publisher("site").test(timeout_s=GOOD_S).state == "accepted"
        agents = self.board._asynchronous.context.agents
        assert not [agent for agent in agents.started if agent.has_ended], f"{call} ended an agent"
        if self.made % REPORT_EVERY == 0:
            assert self.edge.report(GOOD_S).subscriber == "edge-1"

    def _call(self, call: Call) -> None:
        method, arguments = call.method, dict(call.arguments)
        many = arguments.pop(method.many, ()) if method.many else ()
        if method.on == "new":
            before = [arguments.pop(name) for name in method.wanted] if many else []
            NEW[method.name](*before, *many, **arguments)
            return
        its = {"board": self.board, "publisher": self.board.publisher("site"), "subscriber": self.edge}[method.on]
        first = [arguments.pop("subscriber")] if many and "subscriber" in arguments else []
        came = getattr(its, method.name)(*first, *many, **arguments)
        if inspect.isgenerator(came) and arguments.get("follow") is False:
            next(came, None)


@contextmanager
def bench() -> Iterator[Bench]:
    """In the current folder, which is an empty one."""
    Path("site").mkdir(exist_ok=True)
    Path("site/a.txt").write_text("one")
    with (
        capture_logs() as logged,
        sync.Callboard("memory:") as board,
        board.subscriber("edge-1", "./out", editable=True) as edge,
    ):
        yield Bench(board, edge, logged)


def fuzz(count: int, *, first_seed: int) -> Bench:
    """Make this many calls on one board."""
    with bench() as it:

        @seed(first_seed)
        @settings(
            max_examples=count, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(call=calls())
        def each(call: Call) -> None:
            it.make(call)

        each()
        return it


if __name__ == "__main__":
    wanted, made, began_s, slowest, came = int(sys.argv[1]), 0, time.monotonic(), (0.0, ""), dict[str, int]()
    memory = Path("/dev/shm")  # much faster, where there is one
    number = 0
    while made < wanted:
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            os.chdir(folder)
            found = fuzz(min(BATCH, wanted - made), first_seed=number)
            os.chdir("/")
        made, number = made + found.made, number + 1
        slowest = max(slowest, (found.slowest_s, found.slowest))
        came = {name: came.get(name, 0) + found.came_of.get(name, 0) for name in {*came, *found.came_of}}
    print(f"calls: {made} in {time.monotonic() - began_s:.0f} s, the slowest {slowest[0]:.2f} s: {slowest[1]}")
    print(", ".join(f"{name} {count}" for name, count in sorted(came.items())))
