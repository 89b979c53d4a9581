"""The tasks of a process, checked: its code may return anything."""

from hashlib import sha256
from typing import NamedTuple

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.held import FAULTS, Held
from callboard.actors.entities.processes.process import Ask, At, Process, Task
from callboard.messages.bounds import is_id
from callboard.messages.entities.sealing import sealed

TASKS_MAX = 1000
"""Tasks of one process."""


class Todo(NamedTuple):
    """The tasks by what tells them apart, or why they are not known."""

    tasks: dict[str, Task]
    problem: str = ""


NOTHING = Todo({})


def todo(key: str, held: Held) -> Todo:
    """What the entity has to do; nothing if it is no process."""
    if not isinstance(held.state, Process) or not held.exists or held.problem:
        return NOTHING
    try:
        return Todo({identity(each): each for each in _checked(held.state, key)})
    except FAULTS as error:
        return Todo({}, f"{type(held.state).__name__}.todo failed: {type(error).__name__}: {error}")


def is_active(key: str, held: Held) -> bool:
    """Whether this is a process with something to do."""
    its = todo(key, held)
    return bool(its.tasks or its.problem)


def identity(task: Task) -> str:
    """What tells the tasks of a process apart."""
    return f"{task.name}@{task.time_ns}" if isinstance(task, At) else task.name


def command_id(topic: str, key: str, task: str) -> str:
    """The id of the command that a task sends: the same at any time, from any service."""
    return sha256(f"{topic}\0{key}\0{task}".encode()).hexdigest()[:40]


def check_ask(ask: Ask) -> None:
    """Raises ``TypeError`` or ``ValueError`` unless it can be sent."""
    match ask:
        case Ask(name=str() as name, entity=type() as entity, key=str() as key) if name and issubclass(entity, Entity):
            if not (key and is_id(key) and key.isprintable()):
                raise ValueError(f"the task {name!r:.80} has the key {key!r:.80}; use 1 to 200 printable characters")
        case _:
            raise TypeError(f"{ask!r:.200} is wrong; write it as: Ask('pay', Account, 'alice', Withdraw(cents=5))")
    sealed(ask.command)


def _checked(state: Process, key: str) -> list[Task]:
    given: object = state.todo(key)
    if not isinstance(given, tuple | list) or len(given) > TASKS_MAX:
        raise TypeError(
            f"it returned {given!r:.80}; return up to {TASKS_MAX} of Ask and At, () if there is nothing to do"
        )
    for each in given:
        match each:
            case Ask():
                check_ask(each)
            case At(name=str() as name, time_ns=int(), command=command) if name:
                sealed(command)
            case _:
                raise TypeError(f"it returned {each!r:.80} among its tasks; use Ask and At, with names")
    if len({identity(each) for each in given}) < len(given):
        raise TypeError("two of its tasks have the same name")
    return list(given)
