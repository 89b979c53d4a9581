"""What the bytes beside this file stand for: what version 1.4 added to mailbox.py. Written once, never changed."""

from callboard.messages.distribution.fleet_mail import ErrorsPage
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind

INSTANCES = (
    ErrorsPage(errors=(), counts=(), next=7),
    DistributeRequest(
        request_id="r-7", kind=Kind.TEST, paths=(),
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", gone_paths=("/old",), compress=True,
    ),
)  # fmt: skip
