"""What the bytes beside this file stand for: what version 1.2 added to tell logs apart. Written once, never changed."""

from callboard.messages.distribution.queue_mail import QueueSize, Sizes

INSTANCES = (Sizes(queues=(QueueSize(publisher="site", after=41, size=3),), publishers=("site",), log_id="l-1"),)
