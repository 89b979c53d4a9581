"""What the bytes beside this file stand for: what version 1.3 added to distribution.py. Written once, never changed."""

from callboard.messages.distribution.topic_messages import DiscoveryMessage, SubscriberConfiguration

INSTANCES = (
    DiscoveryMessage(
        subscriber_instance="0b7f",
        subscriber="edge-1",
        configuration=SubscriberConfiguration(editable=True, max_retries=-1),
        offset=41,
        lease_ms=120_000,
        takes_over=812,
        term=815,
    ),
)
