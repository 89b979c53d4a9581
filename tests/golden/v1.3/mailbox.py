"""What the bytes beside this file stand for: what version 1.3 added to mailbox.py. Written once, never changed."""

from callboard.messages.distribution.fleet_mail import ErrorsQuery

INSTANCES = (ErrorsQuery(publisher="site", limit=21, after=40, after_subscriber="edge-1"),)
