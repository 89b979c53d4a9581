"""Runs the entities and agents of a service in virtual time, with all faults that a seed chooses."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from structlog.testing import capture_logs

from callboard.actors.core.agent import AgentSpec
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections import ProjectorSettings
from callboard.actors.entities.projections.projection import Projection, Reaction
from callboard.actors.entities.projections.table_rows import fold_of
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.door.actors import agents as door
from callboard.door.actors import projections as projections_door
from callboard.door.actors.entities import entity_name
from callboard.door.boards import function
from callboard.door.rules import checked, several
from callboard.errors import ConfigError
from callboard.messages.topics import PREFIX, entity_topic
from callboard.testing.actors.simulation.scene import Scene
from callboard.testing.actors.simulation.view import View
from callboard.testing.actors.story import Story, chosen, told

TURNS_MAX = 1_000_000
"""Turns of the loop in one seed: more are a sign that something is busy for ever. A usual one takes some thousands."""

DELAYS, DELAYS_MAX = ("process.failed", "process.delayed", "reaction.delayed"), 5
"""What is logged when tasks are not carried out; and how many reasons a failure tells."""

MANY = 20
"""Classes of entities, and agents."""


def simulate(
    *,
    entities: Sequence[type[Entity]] = (),
    projections: Sequence[type[Projection[Any]]] = (),
    reactions: Sequence[type[Reaction]] = (),
    agents: Sequence[AgentSpec] = (),
    story: Story = lambda _: (),
    invariant: Callable[[View], None] = lambda _: None,
    seeds: int = 200,
    seed: int | None = None,
) -> Counter[str]:
    """Run entities and agents in virtual time, in this process, with faults at every step.

    Three services keep the entities, on one log, with and without snapshots, and run the tasks of processes; two make
    the projections, and carry out the reactions; each agent runs beside them. Clients send the commands of the story
    to one of the services, until it answers, some of them twice. Actors, processes and hosts are lost before, in and
    after each effect, or suspended; the log and the network fail; appends and answers are lost, late, or repeated;
    clocks are wrong; older copies take the place of the log, of snapshots and of rows. At the end, the faults are over.

    Checked by the log alone: each command counts once, and as ``decide`` says; what was answered is on the log; what
    was refused had to be; all commands are answered, no process has anything to do, all services agree, and rows are
    those that the events lead to, in the end.

    Args:
        entities: their classes, with all that processes and reactions ask.
        projections: their classes.
        reactions: their classes.
        agents: as for ``Callboard.start``; name one twice to run it twice.
        story: yields commands, from a ``Random`` of the seed.
        invariant: raises ``AssertionError`` if the ``View`` must not be as it is. Called after every commit of an
            entity and every record of an agent, and at the end, which does not wait for deadlines that are more than
            3 hours away.
        seeds: how many; the first is 0.
        seed: run only this one, again.

    Returns:
        How many commands there were, and how often each fault happened.

    Raises:
        ConfigError: wrong arguments, or it is called from a coroutine.
        AssertionError: a rule or the invariant is broken. The message has the seed, and what led to it.
    """
    cast = _cast(entities=entities, projections=projections, reactions=reactions, agents=agents)
    checked(ConfigError, {"story": function, "invariant": function}, {"story": story, "invariant": invariant})
    if _is_in_loop():
        raise ConfigError("simulate() has an event loop of its own; call it from a function that is not asynchronous")
    if cast.topics and not any(True for each in chosen(seeds, seed) for _ in told(story, each, cast.topics)):
        raise ConfigError("the story has no command in any seed; let it yield some: yield Account, 'alice', Deposit()")
    count = Counter[str]()
    for each in chosen(seeds, seed):
        count += _run(each, cast, story, invariant)
    return count


class Cast(NamedTuple):
    """Who takes part: classes of entities with their topics, agents, and the settings of projections and reactions."""

    topics: Mapping[type[Entity], str]
    agents: Sequence[AgentSpec]
    follows: Sequence[ProjectorSettings]


def _cast(**given: Any) -> Cast:
    rules = {
        "entities": several(_entity, MANY),
        "projections": several(lambda each: projections_door.projection(each, PREFIX), MANY),
        "reactions": several(lambda each: projections_door.reaction(each, PREFIX), MANY),
        "agents": several(lambda each: door.agent(each, PREFIX), MANY),
    }
    its = checked(ConfigError, rules, given)
    topics = {entity: entity_topic(entity_name(entity)) for entity in its["entities"]}
    if not (topics or its["agents"]):
        raise ConfigError("there is nothing to simulate; give entities=[Account], with a story, or agents=[...]")
    cast = Cast(topics, its["agents"], (*its["projections"], *its["reactions"]))
    for settings in cast.follows:
        fold_of(settings)
        if missing := [topic for topic, entity in settings.topics if entity not in topics]:
            what = f"{settings.of.__name__} has the source {missing[0]}"
            raise ConfigError(f"{what}, which this simulation has not; add it")
    return cast


def _run(seed: int, cast: Cast, story: Story, invariant: Callable[[View], None]) -> Counter[str]:
    with capture_logs() as logged, Simulation(seed) as simulation:
        simulation.loop.allow(TURNS_MAX)
        scene = Scene(simulation, cast.topics, cast.agents, cast.follows, invariant)
        try:
            simulation.run(scene.play(told(story, seed, cast.topics)))
            crashes = [line["traceback"] for line in logged if line["event"] == "actor.crashed"]
            assert not crashes, f"an actor crashed: {crashes[0]}"
        except ConfigError:  # of the story
            raise
        except Exception as error:  # also one of the service's code, such as the invariant
            what = f"{error}" if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            said = (str(line["problem"]) for line in logged if line["event"] in DELAYS)
            what += "".join(f"\n{line}" for line in list(dict.fromkeys(said))[-DELAYS_MAX:])
            led = "".join(f"\n  {line}" for line in scene.told)
            raise AssertionError(f"{what}\nseed {seed} led to it by:{led}\nrun it again with seed={seed}") from error
        return scene.count


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _entity(value: Any) -> type[Entity]:
    entity_name(value)
    return value  # type: ignore[no-any-return]  # it is one
