"""Fields that 1.4 has added to the messages of the topics."""

from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, SubscriberConfiguration

INSTANCES = (
    DiscoveryMessage(
        subscriber_instance="s-1", subscriber="edge-1", state=State.IDLE, package_version=2,
        configuration=SubscriberConfiguration(editable=True, max_retries=-1),
    ),
)  # fmt: skip
