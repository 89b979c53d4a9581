"""What the bytes beside this file stand for: the messages about distributed events, which version 1.4 added. Written
once, never changed.
"""

from callboard.messages.events.event_messages import EventPublishedMessage, ListenerMark, ListenersMessage

MARK = ListenerMark(
    name="mailer", topics=("shop/**",), log_id="log-1", next=17, time_ms=1_700_000_000_000, attempts=2,
    reason="no such address", given_up=3, lost=4, removed=True,
)  # fmt: skip

INSTANCES = [
    EventPublishedMessage(topic="shop/price", properties=b'{"cents":99}', instance="web-1", incarnation="c0ffee"),
    MARK,
    ListenersMessage(marks=(MARK,)),
]
