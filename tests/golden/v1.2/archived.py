"""What the bytes beside this file stand for: what version 1.2 says of archives. Written once, never changed."""

from callboard.messages.distribution.topic_messages import ArchivedMessage, ArchivedTopic

INSTANCES = (
    ArchivedMessage(
        topics=(ArchivedTopic(topic="callboard.status", next=4711),),
        place="s3://archive/site",
        time_ns=1_700_000_000_000,
    ),
    ArchivedTopic(topic="callboard.package", next=42),
)
