"""Checks agents that services wrote."""

import inspect
from collections.abc import Mapping
from random import Random
from typing import Any

from callboard.actors.core.agent import GATEWAY, ActorSpec, AgentSpec, of_the_board
from callboard.actors.core.decision import Moment, Origin, Perform, Started
from callboard.door.boards import function
from callboard.door.rules import Rule, Unfit, checked, instance_of, name, several, shown
from callboard.errors import ConfigError
from callboard.messages.topics import TOPIC_NAME

ACTORS_MAX = 100
"""Actors of one agent: each may have a process of its own, and knows all others."""

TOPICS_MAX = 100
"""Topics of one agent: each is one call to the log at every start."""

EFFECTS_MAX = 1000
"""Classes of effects of one agent."""

RESERVED = (GATEWAY, "supervisor")
"""Roles of every agent's own machinery."""


def agent(given: Any, prefix: str) -> AgentSpec:
    """The agent, checked and normalised. Its decisions are made once for this, and dropped.

    Args:
        given: the agent.
        prefix: of the board's topics, which are no agent's own.

    Raises:
        ConfigError: it cannot run.
    """
    its: AgentSpec = checked(ConfigError, {"agent": instance_of(AgentSpec)}, {"agent": given})["agent"]
    rules: dict[str, Rule] = {
        "name": name,
        "actors": several(instance_of(ActorSpec, role=_role, decision=function), ACTORS_MAX, least=1),
        "world": function,
        "topics": several(_topic(prefix), TOPICS_MAX),
        "effects": _effects,
    }
    spec = AgentSpec(**checked(ConfigError, rules, {field: getattr(its, field) for field in rules}))
    if spec.effects and spec.world is not of_the_board:
        raise ConfigError("the agent has effects and a world; its world carries out all effects: leave one of them out")
    roles = [actor.role for actor in spec.actors]
    if twice := next((role for role in roles if roles.count(role) > 1), ""):
        raise ConfigError(f"two actors have the role {twice!r}; rename one of them")
    for actor in spec.actors:
        _check_decision(actor)
    return spec


def _role(value: Any) -> str:
    if value in RESERVED:
        raise Unfit(value, f"a name other than {' and '.join(RESERVED)}, which every agent has")
    return name(value)


def _topic(prefix: str) -> Rule:
    def rule(value: Any) -> str:
        if not isinstance(value, str) or not TOPIC_NAME.fullmatch(value) or value.startswith(f"{prefix}."):
            expected = "at most 81 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit"
            raise Unfit(value, f"{expected}, but not with {prefix + '.'!r}, as callboard's own topics do")
        return value

    return rule


def _effects(value: Any) -> Mapping[type[Perform], Any]:
    if not isinstance(value, Mapping) or len(value) > EFFECTS_MAX:
        raise Unfit(value, f"a mapping with up to {EFFECTS_MAX} classes of effects")
    for kind, carries_out in value.items():
        if not (isinstance(kind, type) and issubclass(kind, Perform) and "__dataclass_params__" in vars(kind)):
            raise Unfit(kind, "a frozen dataclass derived from Perform", " has a key that")
        if kind.__module__.startswith(Perform.__module__.rpartition(".")[0]):
            raise Unfit(kind, "an effect of your own; the board carries out its own", " has a key that")
        if not inspect.iscoroutinefunction(carries_out):
            raise Unfit(carries_out, "a function declared with `async def`", f"[{kind.__name__}]")
    return dict(value)


def _check_decision(actor: ActorSpec) -> None:
    """Make the decision once: it is pure, so nothing comes of it."""
    where = f"the decision of actor {actor.role!r}"
    try:
        receive = actor.decision(actor.settings, Random(0)).receive  # noqa: S311  # of no consequence
        inspect.signature(receive).bind(Started(), Origin(""), Moment(0, 0.0))
    except Exception as error:  # whatever it raises
        why = f"{type(error).__name__}: {shown(str(error))}"
        form = "it is called with its settings and a Random, and has a method receive(message, origin, now)"
        raise ConfigError(f"{where} cannot be used: {why}; {form}") from error
    if inspect.iscoroutinefunction(receive) or inspect.isasyncgenfunction(receive):
        raise ConfigError(f"{where} waits: its receive is asynchronous; return effects that wait, such as After")
