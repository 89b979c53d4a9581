"""The settings of a worker agent."""

from dataclasses import dataclass

CACHED_BYTES = 16 << 20
"""Payloads that are kept in memory: those of jobs that run soon are usually among the latest."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of a worker agent: the job topic, and the member of the cluster that it belongs to."""

    topic: str
    instance: str
    cached_bytes: int = CACHED_BYTES
