"""The settings of a worker agent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of a worker agent: the job topic, and the member of the cluster that it belongs to."""

    topic: str
    instance: str
