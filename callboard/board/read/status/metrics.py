"""The status of a board as metrics in the text format of Prometheus. No label is ever a package's id."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from operator import attrgetter
from types import MappingProxyType
from typing import get_args

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds
from callboard.backends.logs.signed_log import Ignored
from callboard.board.events.listeners import ListenerState
from callboard.board.topology.view import ClusterCondition, ClusterReport
from callboard.board.views import BoardStatus, CohortQueue, PublisherStatus, QueueState, SubscriberStatus
from callboard.escaping import escaped
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.publisher_mail import CountersQuery
from callboard.messages.distribution.topic_messages import BOUNDS_S, DiscoveryMessage, Histogram, State

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = tuple(state.name.lower() for state in State)
LIVENESS = tuple(liveness.name.lower() for liveness in Liveness)
QUEUE_STATES = get_args(QueueState)
CONDITIONS = get_args(ClusterCondition)

COUNTING = (roles.QUEUE_CACHE, roles.DISTRIBUTOR)
"""The actors of a publisher that have counters."""

ROWS_MAX = 2000
"""Limit of subscribers and of publishers with metrics, forty and more each: any process can announce thousands, and
Prometheus keeps them for weeks. Those that others wait for come first."""

Counted = Mapping[str, int | Histogram]
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


async def counters(agent: Agent, timeout_s: float) -> dict[str, int | Histogram]:
    """The counters of a publisher's actors since their start, by name."""
    found: dict[str, int | Histogram] = {}
    for role in COUNTING:
        answer = await agent.ask(role, CountersQuery(), timeout_s)
        found |= {counter.name: counter.value for counter in answer.counters}
        found |= {each.name: each.histogram for each in answer.durations}
    return found


def exposition(
    status: BoardStatus,
    bounds: Mapping[str, Bounds],
    counted: Mapping[str, Counted],
    announced: Sequence[DiscoveryMessage] = (),
    ignored: Mapping[str, Ignored] = MappingProxyType({}),
    cluster: ClusterReport | None = None,
    listeners: Sequence[ListenerState] = (),
) -> str:
    """All metrics. ``bounds`` by topic; ``counted`` by publisher, of those that run in this process; ``announced`` by
    subscribers; ``ignored`` by topic, of the records that this process has read; ``cluster`` if there may be one;
    ``listeners`` to distributed events.
    """
    rows = sorted(status.subscribers, key=lambda row: not row.counts)
    rows, left_out = rows[:ROWS_MAX], {row.name for row in rows[ROWS_MAX:]}
    publishers, others = status.publishers[:ROWS_MAX], len(status.publishers[ROWS_MAX:])
    lines = [
        *_subscribers(tuple(rows)),
        *_durations([said for said in announced if said.subscriber not in left_out]),
        *_publishers(publishers),
        *family("subscribers_left_out", "gauge", "Subscribers without figures here.", [({}, len(left_out))]),
        *family("publishers_left_out", "gauge", "Publishers without figures here.", [({}, others)]),
        *_topics(bounds),
        *family(
            "untrusted_records_total",
            "counter",
            "Records that are not signed by a trusted key, as far as read here.",
            [({"topic": topic}, each.count) for topic, each in sorted(ignored.items())],
        ),
        *_counted(counted),
        *(_cluster(cluster) if cluster is not None and cluster.condition != "none" else ()),
        *_listeners(listeners[:ROWS_MAX]),
        *family("board_problem", "gauge", "1 while the board cannot be read in full.", [({}, bool(status.problem))]),
    ]
    return "".join(f"{line}\n" for line in lines)


def _subscribers(rows: tuple[SubscriberStatus, ...]) -> Iterable[str]:
    def gauge(name: str, text: str, values: Iterable[tuple[SubscriberStatus, float]]) -> Iterable[str]:
        return family(name, "gauge", text, [({"subscriber": row.name}, value) for row, value in values])

    known = [row for row in rows if row.lag_packages >= 0 and not row.uncounted]
    yield from gauge("subscriber_lag_packages", "Packages in the queue.", ((row, row.lag_packages) for row in known))
    yield from gauge("subscriber_lag_bytes", "Bytes to fetch for it.", ((row, row.lag_bytes) for row in known))
    yield from gauge("subscriber_lag_seconds", "Age of the oldest queued package.", ((row, row.lag_s) for row in known))
    yield from gauge("subscriber_offset", "The last processed offset.", ((row, row.offset) for row in rows))
    yield from gauge("subscriber_attempts", "Attempts at the head of the queue.", ((row, row.attempts) for row in rows))
    yield from gauge("subscriber_importing_seconds", "Duration of the import at the head, 0 for none.",
                     ((row, row.importing_s) for row in rows))  # fmt: skip
    yield from gauge("subscriber_seen_seconds", "Since its last announcement.", ((row, row.seen_s) for row in rows))
    yield from gauge("subscriber_ready", "1 once it is ready to serve.", ((row, row.ready) for row in rows))
    yield from gauge("subscriber_needs", "1 while an operator has to act; callboard doctor says how.",
                     ((row, row.needs) for row in rows))  # fmt: skip
    yield from _states(
        "subscriber_state", "What it does.", "subscriber", STATES, ((row.name, row.state) for row in rows)
    )
    yield from _states(
        "subscriber_liveness", "Whether it is heard of.", "subscriber", LIVENESS,
        ((row.name, row.liveness) for row in rows),
    )  # fmt: skip
    yield from _states(
        "subscriber_queue", "State of its queue.", "subscriber", QUEUE_STATES, ((row.name, row.queue) for row in rows)
    )
    yield from family("subscriber_errors", "gauge", "Packages in the error queue.", _by_status(rows, _errors))
    yield from family("subscriber_packages_total", "counter", "What became of packages.", _by_status(rows, _packages))


def _durations(announced: Sequence[DiscoveryMessage]) -> Iterable[str]:
    imports = [({"subscriber": said.subscriber}, said.imports) for said in announced]
    latencies = [({"subscriber": said.subscriber}, said.latencies) for said in announced]
    yield from _histograms("subscriber_import_duration_seconds", "Of imports that succeeded.", imports)
    yield from _histograms("subscriber_latency_seconds", "From a package's append to its import.", latencies)


def _errors(row: SubscriberStatus) -> Mapping[str, int]:
    return {"given_up": row.errors - row.held - row.hooks, "held": row.held, "hook_failed": row.hooks}


def _packages(row: SubscriberStatus) -> Mapping[str, int]:
    return {
        "imported": row.imported, "cleared": row.cleared, "skipped": row.skipped, "superseded": row.superseded,
    }  # fmt: skip


def _by_status(
    rows: Iterable[SubscriberStatus], figures: Callable[[SubscriberStatus], Mapping[str, int]]
) -> list[Sample]:
    return [
        ({"subscriber": row.name, "status": status}, value) for row in rows for status, value in figures(row).items()
    ]


def _publishers(publishers: tuple[PublisherStatus, ...]) -> Iterable[str]:
    queues = [queue for each in publishers for queue in (each.persisted, each.published) if queue is not None]
    known = [queue for queue in queues if not queue.uncounted]

    def gauge(name: str, text: str, values: Iterable[tuple[CohortQueue, float]]) -> Iterable[str]:
        samples = [({"publisher": queue.publisher, "cohort": queue.name}, value) for queue, value in values]
        return family(name, "gauge", text, samples)

    yield from _states(
        "publisher_state", "Worst state of its queues.", "publisher", QUEUE_STATES,
        ((each.name, each.state) for each in publishers),
    )  # fmt: skip
    yield from family("publisher_needs", "gauge", "1 while an operator has to act.",
                       [({"publisher": each.name}, each.needs) for each in publishers])  # fmt: skip
    yield from gauge("cohort_packages", "Packages that the slowest lacks.", ((each, each.size) for each in known))
    yield from gauge("cohort_bytes", "Bytes to fetch for these.", ((each, each.length) for each in known))
    yield from gauge("cohort_seconds", "Age of the oldest of these.", ((each, each.oldest_s) for each in known))
    yield from gauge("cohort_members", "Subscribers that count.", ((each, each.members) for each in queues))


def _topics(bounds: Mapping[str, Bounds]) -> Iterable[str]:
    first = [({"topic": topic}, float(each.first)) for topic, each in bounds.items()]
    end = [({"topic": topic}, float(each.end)) for topic, each in bounds.items()]
    yield from family("topic_first_offset", "gauge", "The oldest offset that the log has.", first)
    yield from family("topic_end_offset", "gauge", "The offset after the newest.", end)


def _cluster(found: ClusterReport) -> Iterable[str]:
    """Labels are instances, which survive restarts, of at most a thousand members."""
    states = [({"state": each}, each == found.condition) for each in CONDITIONS]
    yield from family("cluster_condition", "gauge", "State of the cluster and its view.", states)
    for name, text, value in (
        ("members", "Members of the cluster.", len(found.members)),
        ("epoch", "The epoch of its view.", found.epoch),
        ("frozen", "1 while no member is evicted, except by command.", found.frozen),
        ("unsettled_seconds", "How long its view has been waiting for acknowledgements.", found.unsettled_s),
        ("barrier_seconds", "How long the last settled view waited for them, -1 if unknown.", found.barrier_s),
        ("last_record_seconds", "Age of the newest record of the cluster.", found.last_record_s),
        ("evictions_total", "Members evicted, as far as read here.", found.evictions),
        ("rejoins_total", "Joins of former members, as far as read here.", found.rejoins),
        ("false_suspicions_total", "Members evicted or suspected that then spoke.", found.false_suspicions),
    ):
        kind = "counter" if name.endswith("_total") else "gauge"
        yield from family(f"cluster_{name}", kind, text, [({}, value)])
    refused = [({"reason": reason}, count) for reason, count in found.refused.items()]
    yield from family("cluster_refused_total", "counter", "Refused records, as far as read here.", refused)
    lags = [({"instance": each.instance}, each.lag_s) for each in found.members if each.lag_s >= 0]
    yield from family("cluster_member_lag_seconds", "gauge", "Age of what it had not read at its renewal.", lags)
    leases = [({"instance": each.instance}, each.lease_left_s) for each in found.members]
    yield from family("cluster_member_lease_left_seconds", "gauge", "Until others may evict it.", leases)
    leads = [({"instance": each.instance}, each.is_leader) for each in found.members]
    yield from family("cluster_member_leader", "gauge", "1 for the leader.", leads)


def _listeners(states: Sequence[ListenerState]) -> Iterable[str]:
    for name, kind, text, value in (
        ("behind", "gauge", "Offsets that it is behind the newest event.", attrgetter("behind")),
        ("oldest_seconds", "gauge", "Age of the oldest event not handled.", attrgetter("oldest_s")),
        ("attempts", "gauge", "Failed attempts at the next event.", attrgetter("attempts")),
        ("given_up_total", "counter", "Events that it gave up.", attrgetter("given_up")),
        ("lost_total", "counter", "Offsets trimmed before it handled them.", attrgetter("lost")),
    ):
        yield from family(f"listener_{name}", kind, text, [({"listener": its.name}, value(its)) for its in states])


def _counted(counted: Mapping[str, Counted]) -> Iterable[str]:
    """``NAME_total`` is a counter, any other ``NAME`` a gauge, unless it is a histogram."""
    text = "Of the publisher in this process, since it started."
    for name in sorted({name for each in counted.values() for name in each}):
        found = [({"publisher": publisher}, each[name]) for publisher, each in counted.items() if name in each]
        kind = "counter" if name.endswith("_total") else "gauge"
        figures = [(labels, float(value)) for labels, value in found if not isinstance(value, Histogram)]
        yield from family(name, kind, text, figures)
        durations = [(labels, value) for labels, value in found if isinstance(value, Histogram)]
        yield from _histograms(name, text, durations)


def _histograms(name: str, text: str, found: Iterable[tuple[Labels, Histogram | None]]) -> Iterable[str]:
    """Histograms; Prometheus buckets are cumulative."""
    lines: list[str] = []
    for labels, histogram in found:
        if histogram is not None:
            counts = (*(max(count, 0) for count in histogram.counts), *repeat(0, len(BOUNDS_S) + 1))
            totals = list(accumulate(counts[: len(BOUNDS_S) + 1]))
            for bound, total in zip((*map(_number, BOUNDS_S), "+Inf"), totals, strict=True):
                lines.append(f"callboard_{name}_bucket{_labels({**labels, 'le': bound})} {total}")
            lines.append(f"callboard_{name}_sum{_labels(labels)} {max(histogram.sum_us, 0) / 1e6:.6f}")
            lines.append(f"callboard_{name}_count{_labels(labels)} {totals[-1]}")
    if lines:
        yield f"# HELP callboard_{name} {text}"
        yield f"# TYPE callboard_{name} histogram"
        yield from lines


def _states(
    name: str, text: str, label: str, states: tuple[str, ...], found: Iterable[tuple[str, str]]
) -> Iterable[str]:
    samples = [({label: who, "state": state}, state == present) for who, present in found for state in states]
    return family(name, "gauge", text, samples)


def family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterable[str]:
    """The lines of a metric; none without samples."""
    lines = [f"callboard_{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    if lines:
        yield f"# HELP callboard_{name} {text}"
        yield f"# TYPE callboard_{name} {kind}"
        yield from lines


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _escaped(value: str) -> str:
    return escaped(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(int(value))
