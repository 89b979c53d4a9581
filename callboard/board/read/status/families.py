"""Families of metrics for Prometheus. Names begin with ``callboard_``; text from others is escaped here."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from callboard.escaping import escaped
from callboard.messages.distribution.topic_messages import BOUNDS_S, Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Values = tuple[str, ...]
"""The values of a sample's labels."""

Sample = tuple[Values, float]

BUCKETS = (*(f"{bound:g}" for bound in BOUNDS_S), "+Inf")


class Collection(Collector):
    """The families of one reading."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """See ``Collector``."""
        return self._families


def exposed(families: Iterable[Metric]) -> str:
    """The text that Prometheus scrapes."""
    return generate_latest(Collection(families)).decode()


def family(name: str, text: str, labels: Sequence[str], samples: Iterable[Sample]) -> Iterator[Metric]:
    """A counter if the name ends with ``_total``, else a gauge; none without samples."""
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    made = kind(f"callboard_{name}", text, labels=labels)
    for values, number in samples:
        made.add_metric([escaped(value) for value in values], number)
    if made.samples:
        yield made


def single(name: str, text: str, number: float) -> Iterator[Metric]:
    """The same without labels."""
    return family(name, text, (), [((), number)])


def states(name: str, text: str, label: str, known: Sequence[str], now: Iterable[Sequence[str]]) -> Iterator[Metric]:
    """A gauge that is 1 for the present state of each; ``now`` has names and their states."""
    samples = [((who, state), state == present) for who, present in now for state in known]
    return family(name, text, (label, "state"), samples)


def histograms(
    name: str, text: str, labels: Sequence[str], found: Iterable[tuple[Values, Histogram | None]]
) -> Iterator[Metric]:
    """Durations; Prometheus buckets are cumulative. What others announce may be nonsensical."""
    made = HistogramMetricFamily(f"callboard_{name}", text, labels=labels)
    for values, histogram in found:
        if histogram is not None:
            counts = (*(max(count, 0) for count in histogram.counts), *repeat(0, len(BUCKETS)))
            buckets = list(zip(BUCKETS, accumulate(counts[: len(BUCKETS)]), strict=True))
            made.add_metric([escaped(value) for value in values], buckets, max(histogram.sum_us, 0) / 1e6)
    if made.samples:
        yield made
