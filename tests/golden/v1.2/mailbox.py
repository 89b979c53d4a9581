"""What the bytes beside this file stand for: what version 1.2 added to mailbox.py. Written once, never changed."""

from callboard.messages.distribution.mailbox import DistributeRequest, Settled, Unfinished
from callboard.messages.distribution.queue_mail import PackageSummary, QueueQuery, QueueSize
from callboard.messages.distribution.topic_messages import DiscoveryMessage, Kind, SubscriberConfiguration

LEFT = Unfinished(
    what="given_up", offset=38, publisher="site", package_id="p-16", attempts=4, reason="file name too long"
)

INSTANCES = (
    LEFT,
    DistributeRequest(
        request_id="r-19",
        kind=Kind.ADD,
        paths=("/docs",),
        deep_paths=("/docs",),
        source="/srv/docs",
        at="/docs",
        source_name="web1:/srv/docs",
    ),
    Settled(
        announcement=DiscoveryMessage(
            subscriber_instance="0b7f",
            subscriber="edge-1",
            configuration=SubscriberConfiguration(editable=True, max_retries=-1),
            offset=41,
        ),
        reached=True,
        unfinished=(LEFT,),
    ),
    PackageSummary(offset=42, time_ns=7, publisher="site", length=600_000_134, recipients=("edge-1", "edge-2")),
    QueueQuery(after=40, publisher="site", subscriber="edge-1"),
    QueueSize(publisher="site", after=40, size=3, subscriber="edge-1"),
)
