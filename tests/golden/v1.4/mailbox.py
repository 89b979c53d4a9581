"""What the bytes beside this file stand for: what version 1.4 added to mailbox.py. Written once, never changed."""

from callboard.messages.distribution.fleet_mail import ErrorsPage

INSTANCES = (ErrorsPage(errors=(), counts=(), next=7),)
