"""How long imports and builds take, and how long packages are on their way."""

import asyncio
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from callboard.actors.core.decision import Origin
from callboard.actors.core.effects import Append
from callboard.actors.publisher.effects import BuildPackage
from callboard.actors.publisher.intake.distributor import Distributor, DistributorSettings
from callboard.actors.runtime import Runtime
from callboard.actors.subscriber.effects import ImportPackages
from callboard.board.board import Callboard
from callboard.board.read.status.families import exposed
from callboard.board.read.status.metrics import board_metrics
from callboard.errors import BlobMissing, LogUnavailable
from callboard.messages.codec import encode
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.publisher_mail import Counters, CountersQuery
from callboard.messages.distribution.topic_messages import (
    BOUNDS_S,
    SUM_MAX,
    DiscoveryMessage,
    Histogram,
    Kind,
    PackageMessage,
    SubscriberConfiguration,
)
from callboard.messages.record import Record
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import ImporterDriver, package
from tests.unit.board.status.test_metrics import SAMPLE, figures


def histogram(*seconds: float) -> Histogram:
    made = Histogram()
    for each in seconds:
        made = made.with_one(each)
    return made


def appended(record: Record, time_ns: int) -> Record:
    return Record(offset=record.offset, time_ns=time_ns, payload=record.payload, header_block=record.header_block)


def said(**durations: Histogram) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=False, max_retries=-1)
    return DiscoveryMessage(subscriber_instance="i", subscriber="edge-1", configuration=configuration, **durations)


def test_a_duration_is_counted_in_the_lowest_bucket_that_it_fits() -> None:
    assert histogram(0.0, 0.01, 0.011, 0.03).counts == (2, 2)
    assert histogram(86_400).counts == (*[0] * (len(BOUNDS_S) - 1), 1)
    assert histogram(86_401).counts == (*[0] * len(BOUNDS_S), 1)
    assert histogram(-5.0) == Histogram(counts=(1,)), "clocks differ"
    assert histogram(0.5, 0.25).sum_us == 750_000
    assert encode(histogram(*[1e15] * 20)), "a clock that is far off does not exceed what a message can hold"
    assert histogram(*[1e15] * 20).sum_us == SUM_MAX


def test_an_import_is_timed_from_start_to_end_and_its_packages_from_their_append() -> None:
    it = ImporterDriver(batch_packages=64).arrive()
    now_ns = it.now.wall_ns
    it.read(*(appended(package(offset), now_ns - age_s * 10**9) for offset, age_s in ((10, 50), (11, 20), (12, 5))))
    it.pass_time(2)
    assert it.asked(ImportPackages).offsets == (10, 11, 12)
    it.done(ImportPackages)
    assert (it.report().imports, it.report().latencies) == (histogram(2), histogram(52, 22, 7))


def test_only_an_import_that_succeeds_is_timed() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10))
    it.pass_time(5)
    it.fail(ImportPackages, BlobMissing("not there yet"))
    assert it.report().imports is None
    it.tick("retry")
    it.pass_time(7)
    it.done(ImportPackages)
    assert it.report().imports == histogram(7)


def test_the_build_and_the_append_of_a_package_are_timed() -> None:
    it = DecisionDriver(Distributor(DistributorSettings("p", "site", "i", "site/i"), Random(1)))
    it.feed(DistributeRequest(request_id="r", kind=Kind.ADD, paths=("/a",), source="/s"), Origin("gateway", 1))
    it.pass_time(3)
    built = PackageMessage(publisher_instance="", package_id="", kind=Kind.ADD, paths=("/a",), entries=1, length=5)
    it.done(BuildPackage, built)
    it.pass_time(1)
    it.fail(Append, LogUnavailable("away"))
    it.pass_time(1)
    it.tick("append")
    it.done(Append, (7,))
    it.feed(CountersQuery(), Origin("gateway", 2))
    (told,) = [event for _, event in it.replies() if isinstance(event, Counters)]
    assert {each.name: each.histogram for each in told.durations} == {
        "package_build_duration_seconds": histogram(3), "package_append_duration_seconds": histogram(2),
    }  # fmt: skip
    assert ("package_size_bytes_total", 5) in [(each.name, each.value) for each in told.counters]


def test_a_request_with_nothing_to_ship_counts_as_dropped() -> None:
    it = DecisionDriver(Distributor(DistributorSettings("p", "site", "i", "site/i"), Random(1)))
    it.feed(DistributeRequest(request_id="r", kind=Kind.ADD, paths=("/",), source="/s"), Origin("gateway", 1))
    it.done(BuildPackage, PackageMessage(publisher_instance="", package_id="", kind=Kind.ADD, paths=("/",), entries=0))
    it.feed(CountersQuery(), Origin("gateway", 2))
    (told,) = [event for _, event in it.replies() if isinstance(event, Counters)]
    counted = {each.name: each.value for each in told.counters}
    assert (counted["requests_dropped_total"], counted["requests_refused_total"]) == (1, 1)


def test_a_histogram_is_in_the_format_of_prometheus() -> None:
    class Nothing:
        subscribers = publishers = ()
        problem = ""

    status: Any = Nothing()
    announced = [said(imports=histogram(0.02, 0.5, 90_000))]
    text = exposed(board_metrics(status, {}, {"site": {"b": histogram(0.2)}}, announced))
    found = figures(text)
    edge = 'subscriber="edge-1"'
    name = "callboard_subscriber_import_duration_seconds"
    for bound, total in {"0.01": 0, "0.03": 1, "1": 2, "86400": 2, "+Inf": 3}.items():
        assert found[f'{name}_bucket{{le="{bound}",{edge}}}'] == total
    assert (found[f"{name}_sum{{{edge}}}"], found[f"{name}_count{{{edge}}}"]) == (90000.52, 3)
    assert found['callboard_b_bucket{le="0.3",publisher="site"}'] == 1
    assert "# TYPE callboard_subscriber_import_duration_seconds histogram" in text
    assert all(SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#"))
    assert len(re.findall("_bucket", text)) == 2 * (len(BOUNDS_S) + 1)


def test_nonsensical_durations_in_an_announcement_spoil_no_figures() -> None:
    class Nothing:
        subscribers = publishers = ()
        problem = ""

    status: Any = Nothing()
    longer = Histogram(counts=tuple(range(100)), sum_us=-1)
    assert figures(exposed(board_metrics(status, {}, {}, [said(imports=longer, latencies=Histogram())])))


@pytest.mark.proves("F98")
@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_every_subscriber_and_every_publisher_reports_its_own_durations(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("a")

    async def work() -> str:
        async with Callboard(f"sqlite:///{tmp_path}/board.db", runtime=runtime) as board:
            await board.publisher("site").publish(tmp_path / "site")
            await board.publisher("site").delete(("/a",))
            async with board.subscriber("edge-1", into=tmp_path / "out", editable=False) as edge:
                await edge.caught_up()
                return await board.metrics()

    found = figures(asyncio.run(work()))
    edge, site = 'subscriber="edge-1"', 'publisher="site"'
    for name, label, counts in (
        ("subscriber_import_duration", edge, (1, 2)),  # both packages at once, or one after the other
        ("subscriber_latency", edge, (2,)),
        ("package_build_duration", site, (1,)),
        ("package_append_duration", site, (2,)),
    ):
        count = found[f"callboard_{name}_seconds_count{{{label}}}"]
        assert count in counts, name
        assert found[f'callboard_{name}_seconds_bucket{{le="+Inf",{label}}}'] == count
        assert 0 < found[f"callboard_{name}_seconds_sum{{{label}}}"] < 600
    assert found['callboard_requests_accepted_total{publisher="site"}'] == 2
    assert found['callboard_package_size_bytes_total{publisher="site"}'] > 0


def test_durations_take_few_bytes_in_an_announcement() -> None:
    busy = histogram(*[0.001] * 9_000, *[0.02] * 2_000, *[0.2] * 300, *[2.0] * 40, *[5000.0] * 3)
    assert len(encode(said(imports=busy, latencies=busy))) - len(encode(said())) < 80
