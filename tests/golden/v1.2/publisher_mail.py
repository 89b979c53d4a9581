"""What the bytes beside this file stand for: what 1.2 added to publisher_mail.py. Written once, never changed."""

from callboard.messages.distribution.publisher_mail import Counters, Durations
from callboard.messages.distribution.topic_messages import Histogram

BUILDS = Durations(name="package_build_duration_seconds", histogram=Histogram(counts=(3, 0, 1), sum_us=81_234))

INSTANCES = (BUILDS, Counters(durations=(BUILDS,)))
