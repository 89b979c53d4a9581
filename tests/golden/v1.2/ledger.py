"""What the bytes beside this file stand for: what version 1.2 added to ledger.py. Written once, never changed."""

from callboard.messages.distribution.ledger import HookDue
from callboard.messages.distribution.topic_messages import Kind

INSTANCES = (
    HookDue(
        offset=41,
        publisher="site",
        package_id="p-17",
        kind=Kind.ADD,
        paths=("/docs",),
        deep_paths=("/docs",),
        written=("/docs", "/docs/b"),
        removed=("/docs/a",),
        changed=900,
        changes_ref="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
)
