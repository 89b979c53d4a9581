"""The actors of a worker agent, which give one process jobs to run."""

from callboard.actors.core.agent import ActorSpec
from callboard.actors.jobs.worker import roles
from callboard.actors.jobs.worker.settings import WorkerSettings

__all__ = ["WorkerSettings", "actors"]


def actors(settings: WorkerSettings) -> tuple[ActorSpec, ...]:
    """The actors of a worker agent. Imported lazily, as those of a publisher."""
    from callboard.actors.jobs.worker.dispatcher import Dispatcher
    from callboard.actors.jobs.worker.reporter import Reporter

    return (
        ActorSpec(roles.DISPATCHER, Dispatcher, settings),
        ActorSpec(roles.REPORTER, Reporter, settings),
    )
