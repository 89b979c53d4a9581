"""The oracle of shortening knows which statuses are still needed."""

from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status
from callboard.messages.headers import new_record
from callboard.messages.record import Record, pack_headers
from callboard.testing.simulation.distribution.oracles.shortening_oracle import ShorteningOracle
from callboard.testing.simulation.distribution.oracles.tenants import Tenants
from callboard.testing.simulation.distribution.scene import TOPICS


class Log:
    """A topic of statuses, beside one of packages."""

    def __init__(self, packages: range) -> None:
        self.packages = packages
        self.lost: list[str] = []
        tenants = Tenants(lambda: 0)
        self.oracle = ShorteningOracle(self.demand, lambda: 0, lambda at: at in self.packages, tenants, lambda: False)
        self._offset = 0

    def demand(self, right: bool, rule: str, story: str) -> None:
        if not right:
            self.lost.append(f"{rule}: {story}")

    def tell(self, sequence: int, package: int, status: Status) -> Record:
        message = PackageStatusMessage(
            subscriber_instance="i", subscriber="edge", publisher="site", offset=package, status=status,
            sequence=sequence,
        )  # fmt: skip
        record = new_record(message, record_id=f"i/{sequence}", time_ns=1, producer="edge/i")
        self._offset += 1
        headers = pack_headers(record.headers)
        told = Record(offset=self._offset, time_ns=1, payload=record.payload, header_block=headers)
        self.oracle.appended(TOPICS.status, told)
        return told

    def trim(self) -> list[str]:
        """Remove all statuses except the last, the import of package 1; returns what must not be lost."""
        self.oracle.trimmed(TOPICS.status, [self.tell(self._offset + 100, 1, Status.IMPORTED)])
        return self.lost


def test_the_failure_of_a_package_on_the_log_must_be_kept() -> None:
    log = Log(packages=range(1, 9))
    log.tell(1, 8, Status.HELD)
    assert log.trim()


def test_a_late_failure_of_a_replaced_log_may_be_removed() -> None:
    log = Log(packages=range(1, 2))
    log.tell(1, 8, Status.HELD)
    assert not log.trim()
    log.packages = range(1, 9)
    log.tell(1, 8, Status.HELD)
    assert not log.trim()
    assert log.oracle.may_be_landed() == {("edge", 8)}


def test_a_late_failure_of_a_replaced_log_may_be_removed_if_the_new_log_begins_with_a_gap() -> None:
    log = Log(packages=range(4, 9))
    log.tell(1, 1, Status.HELD)
    assert not log.trim()


def test_the_failure_of_a_package_at_the_offset_of_a_former_one_must_be_kept() -> None:
    log = Log(packages=range(1, 2))
    log.tell(1, 8, Status.HELD)
    log.packages = range(1, 9)
    log.tell(2, 8, Status.HELD)
    assert log.trim()
