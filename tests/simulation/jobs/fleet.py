"""Simulated workers, for tests that decide themselves what happens to them."""

from callboard.actors.core.agent import Agent
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.testing.simulation.jobs.acts import Join
from callboard.testing.simulation.jobs.workers import TOPIC, Workers

__all__ = ["TOPIC", "Fleet"]


class Fleet:
    """Workers on one log that run the jobs of topics ``a/*`` and ``b``."""

    def __init__(self, seed: int) -> None:
        self.simulation = Simulation(seed)
        self.workers = Workers(self.simulation, seed)
        self.rng, self.log = self.workers.rng, self.workers.log

    def start(self, name: str, slots: int) -> None:
        self.workers.start(Join(0.0, name, slots, ("a/*", "b")))

    def crash(self, name: str) -> None:
        self.workers.crash(self.workers.hosts[name])

    def say(self, message: Event) -> int:
        """Append a message; returns its offset."""
        number = f"{self.rng.getrandbits(64):x}"
        record = new_record(message, record_id=number, time_ns=self.simulation.clock.now().wall_ns, producer="test")
        return self.simulation.run(self.log.append(TOPIC, [record]))[0]

    @property
    def order(self) -> list[str]:
        """The members of the cluster."""
        return self.workers.order

    @property
    def agents(self) -> dict[str, Agent]:
        return {name: host.agent for name, host in self.workers.hosts.items()}

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The job and the lease of each run."""
        return [lease for lease, attempts in self.workers.runs.items() for _ in attempts]

    @property
    def successes(self) -> set[tuple[int, int]]:
        return self.workers.done

    def failures(self) -> list[str]:
        return self.workers.wrong + [each for worker in self.workers.workers.values() for each in worker.failures]

    def close(self) -> None:
        self.simulation.close()
