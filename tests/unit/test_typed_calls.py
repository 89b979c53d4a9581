"""A program that calls every method of the library, asynchronous and not, with all its arguments, is typed strictly."""

import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import callboard
import callboard.sync

PAIRS = [
    (callboard.Callboard, callboard.sync.Callboard),
    (callboard.Publisher, callboard.sync.Publisher),
    (callboard.Subscriber, callboard.sync.Subscriber),
    (callboard.Member, callboard.sync.Member),
    (callboard.LeaderLease, callboard.sync.LeaderLease),
    (callboard.BoardJobs, callboard.sync.BoardJobs),
    (callboard.Worker, callboard.sync.Worker),
    (callboard.Entities, callboard.sync.Entities),
    (callboard.Projected, callboard.sync.Projected),
    (callboard.Reacting, callboard.sync.Reacting),
]
APART = {"on", "relay"}
"""What is no method for a service: it gives a board to those that stand in for its parts. A relay needs two boards on
one event loop, and synchronous ones have one each."""

LIFE = "callboard.actors.jobs.rules.telling.JobEvent"
QUEUES = "tuple[callboard.board.jobs.queues.QueueState, ...]"
SYNCHRONOUS = {
    "callboard.board.publisher.Publisher": "callboard.sync.Publisher",
    "callboard.board.subscriber.Subscriber": "callboard.sync.Subscriber",
    "callboard.actors.core.agent.Agent": "callboard.sync.Agent",
    "Member": "callboard.sync.Member",
    "callboard.board.jobs.work.worker.Worker": "callboard.sync.Worker",
    "callboard.board.jobs.outbox.outbox.Outbox": "callboard.sync.jobs.Outbox",
    "callboard.board.timers.timers.Timers": "callboard.sync.jobs.Timers",
    "callboard.board.member.leadership.LeaderLease": "callboard.sync.LeaderLease",
    "AsyncGenerator[BoardEvent, None]": "collections.abc.Iterator[BoardEvent]",
    f"collections.abc.AsyncGenerator[{QUEUES}, None]": f"collections.abc.Iterator[{QUEUES}]",
    f"collections.abc.AsyncGenerator[{LIFE}, None]": f"collections.abc.Iterator[{LIFE}]",
    "Entities[S]": "callboard.sync.entities.Entities[S]",
    "Projected[R]": "callboard.sync.entities.Projected[R]",
    "Reacting": "callboard.sync.entities.Reacting",
    "AsyncGenerator[ClusterChange, None]": "collections.abc.Iterator[ClusterChange]",
    "AsyncGenerator[Replayed, None]": "collections.abc.Iterator[Replayed]",
}
"""What a synchronous method gives for what an asynchronous one gives."""


def program(pairs: list[tuple[type, type]] = PAIRS) -> str:
    """A function for each method of each class, which demands that the call has the type of the asynchronous method."""
    calls = [_call(number, *each) for number, each in enumerate(_methods(pairs))]
    modules = set(re.findall(r"\b((?:callboard|collections|pathlib|typing)(?:\.[a-z_]+)*)\.[A-Z]", "\n".join(calls)))
    names = ", ".join(callboard.__all__)
    head = [f"import {name}" for name in ["datetime", *sorted(modules)]]
    head += [f"from callboard import {names}", "from collections.abc import AsyncGenerator"]
    head += ["from typing import Literal, Optional", "import callboard.sync.entities"]
    head += ["from callboard.actors import Entity, Event, Projection, Reaction"]
    head += ["S = typing.TypeVar('S', bound=Entity)", "R = typing.TypeVar('R', bound=Event)"]
    return "\n".join([*head, *calls])


def _methods(pairs: list[tuple[type, type]]) -> Iterator[tuple[type, bool, str, Any]]:
    for asynchronous, twin in pairs:
        for name, method in inspect.getmembers(asynchronous, callable):
            if not name.startswith("_") and name not in APART:
                yield asynchronous, False, name, method
                yield twin, True, name, method


def _call(number: int, owner: type, synchronous: bool, name: str, method: Any) -> str:
    signature, of_class = inspect.signature(method), inspect.ismethod(method)
    parameters = list(signature.parameters.values())[0 if of_class else 1 :]
    its = f"{owner.__module__}.{owner.__qualname__}"
    if of := ", ".join(each.__name__ for each in getattr(owner, "__parameters__", ())):
        its = f"{its}[{of}]"
    result = its if of_class else _written(signature.return_annotation)
    waits = inspect.iscoroutinefunction(inspect.unwrap(method)) and not synchronous
    call = f"{its if of_class else 'it'}.{name}({', '.join(map(_argument, parameters))})"
    result = SYNCHRONOUS.get(result, result) if synchronous else result
    given = [f"it: {its}", *(f"{each.name}: {_written(each.annotation)}" for each in parameters)]
    return (
        f"{'async ' if waits else ''}def call_{number}({', '.join(given)}) -> None:\n"
        f"    typing.assert_type({'await ' if waits else ''}{call}, {result})"
    )


def _argument(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return f"*[{parameter.name}]"
        case inspect.Parameter.VAR_KEYWORD:
            return f"**{parameter.name}"
        case inspect.Parameter.KEYWORD_ONLY:
            return f"{parameter.name}={parameter.name}"
        case _:
            return parameter.name


def _written(annotation: Any) -> str:
    """The annotation as a program has it."""
    if isinstance(annotation, str):
        return annotation
    if typing.get_origin(annotation) is typing.Unpack:
        (annotation,) = typing.get_args(annotation)
    return inspect.formatannotation(annotation).replace("~", "")


def checked(folder: Path, text: str) -> str:
    """What mypy says of the program, as of one that uses the installed package."""
    api = pytest.importorskip("mypy.api", reason="the tools of `make lint` are not installed")
    (folder / "calls.py").write_text(text)
    options = ["--strict", "--no-error-summary", "--follow-imports=silent", "--config-file=", "--cache-dir=.mypy_cache"]
    said, problem, _ = api.run([*options, str(folder / "calls.py")])
    assert not problem
    return str(said)


def test_every_call_is_typed_also_in_the_synchronous_api(tmp_path: Path) -> None:
    assert checked(tmp_path, program()) == ""


def test_the_check_finds_a_method_missing_in_the_synchronous_api(tmp_path: Path) -> None:
    said = checked(tmp_path, program().replace("it.cohorts(", "it.orchard("))
    assert said.count('"Callboard" has no attribute "orchard"') == 2
