"""The status of a board as metrics for Prometheus. No label is ever a package's id."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import get_args

from prometheus_client.core import InfoMetricFamily, Metric

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds
from callboard.backends.logs.signed_log import Ignored
from callboard.board.events.listeners import ListenerState
from callboard.board.read.status.families import Sample, family, histograms, single, states
from callboard.board.site_status import SiteStatus
from callboard.board.topology.view import ClusterCondition, ClusterReport
from callboard.board.views import BoardStatus, CohortQueue, PublisherStatus, QueueState, SubscriberStatus
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.publisher_mail import CountersQuery
from callboard.messages.distribution.topic_messages import DiscoveryMessage, Histogram, State
from callboard.version import __version__

STATES = tuple(state.name.lower() for state in State)
LIVENESS = tuple(liveness.name.lower() for liveness in Liveness)
QUEUE_STATES = get_args(QueueState)
CONDITIONS = get_args(ClusterCondition)

COUNTING = (roles.QUEUE_CACHE, roles.DISTRIBUTOR)
"""The actors of a publisher that have counters."""

ROWS_MAX = 2000
"""Limit of subscribers and of publishers with metrics, forty and more each: any process can announce thousands, and
Prometheus keeps them for weeks. Those that others wait for come first."""

COUNTED = {
    "package_append_duration_seconds": "Of appends to the log, of one package or several, with their retries.",
    "package_build_duration_seconds": "Of building a package and storing its content.",
    "package_size_bytes_total": "Bytes that a subscriber fetches for the packages appended.",
    "queue_cache_entries": "Packages that are in memory.",
    "queue_cache_fetches_total": "Reads of older packages from the log.",
    "requests_accepted_total": "Requests that became packages.",
    "requests_dropped_total": "Refused requests that had nothing to ship.",
    "requests_refused_total": "Requests that were refused.",
    "requests_throttled_total": "Accepted requests that were delayed by a backlog.",
}
"""What the actors of a publisher count, from their start."""

WHO, BY_STATUS = ("subscriber",), ("subscriber", "status")

Counted = Mapping[str, int | Histogram]


async def counters(agent: Agent, timeout_s: float) -> dict[str, int | Histogram]:
    """The counters of a publisher's actors since their start, by name."""
    found: dict[str, int | Histogram] = {}
    for role in COUNTING:
        answer = await agent.ask(role, CountersQuery(), timeout_s)
        found |= {counter.name: counter.value for counter in answer.counters}
        found |= {each.name: each.histogram for each in answer.durations}
    return found


def board_metrics(
    status: BoardStatus,
    bounds: Mapping[str, Bounds],
    counted: Mapping[str, Counted],
    announced: Sequence[DiscoveryMessage] = (),
    ignored: Mapping[str, Ignored] = MappingProxyType({}),
    cluster: ClusterReport | None = None,
    listeners: Sequence[ListenerState] = (),
) -> Iterator[Metric]:
    """All metrics. ``bounds`` by topic; ``counted`` by publisher, of those that run in this process; ``announced`` by
    subscribers; ``ignored`` by topic, of the records that this process has read; ``cluster`` if there may be one;
    ``listeners`` to distributed events.
    """
    rows = sorted(status.subscribers, key=lambda row: not row.counts)
    rows, left_out = rows[:ROWS_MAX], {row.name for row in rows[ROWS_MAX:]}
    yield from build_info()
    yield from announced_metrics(rows, [said for said in announced if said.subscriber not in left_out])
    yield from _seen_metrics(rows)
    yield from _sites([row.site for row in rows if row.site is not None])
    yield from _publishers(status.publishers[:ROWS_MAX])
    yield from single("subscribers_left_out", "Subscribers without figures here.", len(left_out))
    yield from single("publishers_left_out", "Publishers without figures here.", len(status.publishers[ROWS_MAX:]))
    yield from topic_metrics(bounds)
    untrusted = [((topic,), each.count) for topic, each in sorted(ignored.items())]
    text = "Records that are not signed by a trusted key, as far as read here."
    yield from family("untrusted_records_total", text, ("topic",), untrusted)
    yield from _counted(counted)
    if cluster is not None and cluster.condition != "none":
        yield from _cluster(cluster)
    yield from _listeners(listeners[:ROWS_MAX])
    yield from single("board_problem", "1 while the board cannot be read in full.", bool(status.problem))


def build_info() -> Iterator[Metric]:
    """Which version this is."""
    yield InfoMetricFamily("callboard_build", "The version of callboard.", {"version": __version__})


def announced_metrics(rows: Sequence[SubscriberStatus], announced: Sequence[DiscoveryMessage]) -> Iterator[Metric]:
    """What subscribers say of themselves: what they do, where they are, and how long that takes."""
    yield from _figures(rows, (
        ("offset", "The last processed offset of the package topic.", "offset"),
        ("attempts", "Attempts at the head of the queue.", "attempts"),
        ("importing_seconds", "Duration of the import at the head, 0 for none.", "importing_s"),
        ("ready", "1 once the subscriber is ready to serve.", "ready"),
    ))  # fmt: skip
    yield from _states(rows, "state", "What the subscriber does: 1 for the present state.", STATES)
    yield from family(
        "subscriber_packages_total",
        "What became of packages at the subscriber.",
        BY_STATUS,
        _by_status(rows, _packages),
    )
    imports = [((said.subscriber,), said.imports) for said in announced]
    text = "Of imports that succeeded; a batch of packages is one import."
    yield from histograms("subscriber_import_duration_seconds", text, WHO, imports)
    latencies = [((said.subscriber,), said.latencies) for said in announced]
    yield from histograms("subscriber_latency_seconds", "From a package's append to its import.", WHO, latencies)


def _seen_metrics(rows: Sequence[SubscriberStatus]) -> Iterator[Metric]:
    """What only a look at the whole board tells."""
    known = [row for row in rows if row.lag_packages >= 0 and not row.uncounted]
    yield from _figures(known, (
        ("lag_packages", "Packages in the queue.", "lag_packages"),
        ("lag_bytes", "Bytes to fetch for the queue.", "lag_bytes"),
        ("lag_seconds", "Age of the oldest queued package.", "lag_s"),
    ))  # fmt: skip
    yield from _figures(rows, (
        ("seen_seconds", "Since the last announcement.", "seen_s"),
        ("needs", "1 while an operator has to act; callboard doctor says how.", "needs"),
    ))  # fmt: skip
    yield from _states(rows, "liveness", "Whether the subscriber is heard of: 1 for what is so.", LIVENESS)
    yield from _states(rows, "queue", "State of the queue: 1 for the present one.", QUEUE_STATES)
    yield from family("subscriber_errors", "Packages in the error queue.", BY_STATUS, _by_status(rows, _errors))


def _sites(sites: Sequence[SiteStatus]) -> Iterator[Metric]:
    """The label ``subscriber`` is the relay; its figures among the subscribers' are those of the whole site."""
    known = {*STATES, *LIVENESS}
    counts = [((each.name, state), number) for each in sites for state, number in each.states.items() if state in known]
    yield from family("site_subscribers", "Subscribers of the relay's site.", ("subscriber", "state"), counts)
    for name, text, field in (
        ("needs", "Subscribers of the site that need an operator.", "needs"),
        ("errors", "Packages in the error queues of the site.", "errors"),
        ("relayed", "The last offset that the relay itself has processed.", "relayed"),
        ("age_seconds", "Age of what the relay says of its site, -1 if it has not yet.", "age_s"),
    ):
        yield from family(f"site_{name}", text, WHO, [((each.name,), getattr(each, field)) for each in sites])


def _figures(rows: Sequence[SubscriberStatus], wanted: Iterable[tuple[str, str, str]]) -> Iterator[Metric]:
    """The families of these names, texts and fields."""
    for name, text, field in wanted:
        yield from family(f"subscriber_{name}", text, WHO, [((row.name,), getattr(row, field)) for row in rows])


def _states(rows: Sequence[SubscriberStatus], field: str, text: str, known: Sequence[str]) -> Iterator[Metric]:
    return states(f"subscriber_{field}", text, "subscriber", known, map(attrgetter("name", field), rows))


def _errors(row: SubscriberStatus) -> Mapping[str, int]:
    return {"given_up": row.errors - row.held - row.hooks, "held": row.held, "hook_failed": row.hooks}


def _packages(row: SubscriberStatus) -> Mapping[str, int]:
    return {
        "imported": row.imported, "cleared": row.cleared, "skipped": row.skipped, "superseded": row.superseded,
    }  # fmt: skip


def _by_status(
    rows: Iterable[SubscriberStatus], figures: Callable[[SubscriberStatus], Mapping[str, int]]
) -> list[Sample]:
    return [((row.name, status), value) for row in rows for status, value in figures(row).items()]


def _publishers(publishers: Sequence[PublisherStatus]) -> Iterator[Metric]:
    queues = [queue for each in publishers for queue in (each.persisted, each.published) if queue is not None]
    known = [queue for queue in queues if not queue.uncounted]

    def gauge(name: str, text: str, values: Iterable[tuple[CohortQueue, float]]) -> Iterator[Metric]:
        samples = [((queue.publisher, queue.name), value) for queue, value in values]
        return family(name, text, ("publisher", "cohort"), samples)

    now = map(attrgetter("name", "state"), publishers)
    yield from states(
        "publisher_state",
        "Worst state of the publisher's queues: 1 for the present one.",
        "publisher",
        QUEUE_STATES,
        now,
    )
    needs = [((each.name,), each.needs) for each in publishers]
    yield from family("publisher_needs", "1 while an operator has to act.", ("publisher",), needs)
    yield from gauge("cohort_packages", "Packages that the slowest lacks.", ((each, each.size) for each in known))
    yield from gauge(
        "cohort_bytes",
        "Bytes to fetch for the packages that the slowest lacks.",
        ((each, each.length) for each in known),
    )
    yield from gauge(
        "cohort_seconds", "Age of the oldest package that the slowest lacks.", ((each, each.oldest_s) for each in known)
    )
    yield from gauge("cohort_members", "Subscribers that count.", ((each, each.members) for each in queues))


def topic_metrics(bounds: Mapping[str, Bounds]) -> Iterator[Metric]:
    """What the log has."""
    first = [((topic,), each.first) for topic, each in bounds.items()]
    yield from family("topic_first_offset", "The oldest offset that the log has.", ("topic",), first)
    end = [((topic,), each.end) for topic, each in bounds.items()]
    yield from family("topic_end_offset", "The offset after the newest.", ("topic",), end)


def _cluster(found: ClusterReport) -> Iterator[Metric]:
    """Labels are instances, which survive restarts, of at most a thousand members."""
    conditions = [((each,), each == found.condition) for each in CONDITIONS]
    yield from family(
        "cluster_condition", "State of the cluster and its view: 1 for the present one.", ("state",), conditions
    )
    for name, text, value in (
        ("members", "Members of the cluster.", len(found.members)),
        ("epoch", "The epoch of the cluster's view.", found.epoch),
        ("frozen", "1 while no member is evicted, except by command.", found.frozen),
        ("unsettled_seconds", "How long the view has been waiting for acknowledgements.", found.unsettled_s),
        ("barrier_seconds", "How long the last settled view waited for all, -1 if unknown.", found.barrier_s),
        ("last_record_seconds", "Age of the newest record of the cluster.", found.last_record_s),
        ("evictions_total", "Members evicted, as far as read here.", found.evictions),
        ("rejoins_total", "Joins of former members, as far as read here.", found.rejoins),
        ("false_suspicions_total", "Members evicted or suspected that then spoke.", found.false_suspicions),
    ):
        yield from single(f"cluster_{name}", text, value)
    refused = [((reason,), count) for reason, count in found.refused.items()]
    yield from family("cluster_refused_total", "Refused records, as far as read here.", ("reason",), refused)
    for name, text, values in (
        ("lag_seconds", "Age of what the member had not read when it renewed.",
         [((each.instance,), each.lag_s) for each in found.members if each.lag_s >= 0]),
        ("lease_left_seconds", "Until others may evict the member.",
         [((each.instance,), each.lease_left_s) for each in found.members]),
        ("leader", "1 for the leader.", [((each.instance,), each.is_leader) for each in found.members]),
    ):  # fmt: skip
        yield from family(f"cluster_member_{name}", text, ("instance",), values)


def _listeners(listeners: Sequence[ListenerState]) -> Iterator[Metric]:
    for name, text, field in (
        ("behind", "Offsets that the listener is behind the newest event.", "behind"),
        ("oldest_seconds", "Age of the oldest event that the listener has not handled.", "oldest_s"),
        ("attempts", "Failed attempts at the listener's next event.", "attempts"),
        ("given_up_total", "Events that the listener gave up.", "given_up"),
        ("lost_total", "Offsets trimmed before the listener handled them.", "lost"),
    ):
        samples = [((its.name,), getattr(its, field)) for its in listeners]
        yield from family(f"listener_{name}", text, ("listener",), samples)


def _counted(counted: Mapping[str, Counted]) -> Iterator[Metric]:
    labels = ("publisher",)
    for name in sorted({name for each in counted.values() for name in each}):
        text = COUNTED.get(name, "Of the publisher in this process, since it started.")
        found = [((publisher,), each[name]) for publisher, each in counted.items() if name in each]
        durations = [(values, value) for values, value in found if isinstance(value, Histogram)]
        yield from histograms(name, text, labels, durations)
        yield from family(
            name, text, labels, [(its, value) for its, value in found if not isinstance(value, Histogram)]
        )
