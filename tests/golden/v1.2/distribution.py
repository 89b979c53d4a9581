"""What the bytes beside this file stand for: what version 1.2 added to distribution.py. Written once, never changed."""

from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Histogram,
    Kind,
    PackageMessage,
    SubscriberConfiguration,
)

INSTANCES = (
    DiscoveryMessage(
        subscriber_instance="0b7f",
        subscriber="edge-1",
        configuration=SubscriberConfiguration(editable=True, max_retries=-1),
        offset=41,
        hooks=1,
        hook_offset=40,
        hook_attempts=3,
        hook_error="purge: connection refused",
        left=(38, 40),
        imports=Histogram(counts=(3, 0, 1), sum_us=81_234),
        latencies=Histogram(counts=(0, 4), sum_us=102_000),
    ),
    PackageMessage(
        publisher_instance="4c1d",
        publisher="site",
        package_id="p-19",
        kind=Kind.ADD,
        length=134,
        paths=("/film",),
        content=b"package",
        blobs=("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",),
        total_bytes=600_000_134,
        source="web1:/srv/film",
    ),
    Histogram(counts=(3, 0, 1), sum_us=81_234),
    SubscriberConfiguration(editable=False, max_retries=3, include=("/blog/**",), exclude=("*.mp4", "/blog/drafts")),
)
