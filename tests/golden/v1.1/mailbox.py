"""What the bytes beside this file stand for: what version 1.1 added to mailbox.py. Written once, never changed."""

from callboard.messages.distribution.fleet_mail import ErrorCount, FleetView
from callboard.messages.distribution.mailbox import (
    Admitted,
    CommandPassedOver,
    CommandReceived,
    CommandsWanted,
    DistributeRequest,
    DistributeResponse,
    Ready,
    ReadyQuery,
    Report,
    StatusesPending,
    Verdicts,
    VerdictsWanted,
)
from callboard.messages.distribution.queue_mail import QueueQuery, QueueSize, SizesQuery
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    Kind,
    PackageStatusMessage,
    Status,
    SubscriberConfiguration,
    ThrottledMessage,
)

STATUS = PackageStatusMessage(
    subscriber_instance="0b7f", subscriber="edge-0", publisher="site", offset=42, status=Status.SKIPPED, sequence=9
)
RESULT = CommandResultMessage(
    subscriber_instance="0b7f", subscriber="edge-1", command_id="c-5", command_offset=9, accepted=True, sequence=10
)

INSTANCES = (
    Report(
        announcement=DiscoveryMessage(
            subscriber_instance="0b7f",
            subscriber="edge-1",
            configuration=SubscriberConfiguration(editable=True, max_retries=-1),
        ),
        head_time_ns=1_700_000_000_000_000_009,
        caught_up=True,
    ),
    Admitted(until_ms=123_456),
    ReadyQuery(),
    Ready(reason="idle"),
    CommandReceived(
        log_id="l-2",
        offset=9,
        command=CommandMessage(subscriber_instance="", subscriber="edge-1", command_id="c-5"),
        time_ns=1_700_000_000_000_000_008,
    ),
    CommandPassedOver(log_id="l-2", offset=10, reason="damaged", set_back=True, time_ns=1_700_000_000_000_000_010),
    CommandsWanted(subscriber_instance="0b7f", log_id="l-2", offset=10, time_ns=1_700_000_000_000_000_010),
    StatusesPending(statuses=(STATUS,), results=(RESULT,)),
    VerdictsWanted(offset=42),
    QueueSize(publisher="site", after=40, size=3, length=4096, newest=99, uncounted=56),
    QueueQuery(after=40, publisher="site", limit=20, end=100),
    SizesQuery(queues=(QueueSize(publisher="site", after=40),), end=100),
    Verdicts(
        offset=42,
        verdicts=(STATUS,),
        golden=DiscoveryMessage(
            subscriber_instance="0b7f",
            subscriber="edge-0",
            configuration=SubscriberConfiguration(editable=True, max_retries=-1),
        ),
        problem="the status topic cannot be read",
    ),
    FleetView(
        members=(), unread=40_000, dropped=3, throttled=(ThrottledMessage(publisher="site", publisher_instance="4c1d"),)
    ),
    ErrorCount(subscriber="edge-1", publisher="site", size=12, held=2, hooks=1, dropped=30),
    DistributeRequest(
        request_id="r-6", kind=Kind.DELETE, paths=("/a",), metadata=(("why", "old"),), recipients=("edge-1", "edge-2")
    ),
    DistributeResponse(
        request_id="r-6", accepted=False, reason="nothing in it", dropped=True, throttled_ms=1500, throttled_by="edge-1"
    ),
)
