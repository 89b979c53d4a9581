"""All that the API can be asked, in the order of its document."""

from callboard.web.api.reads.cluster import CLUSTER
from callboard.web.api.reads.events import EVENTS, PACKAGE_EVENTS
from callboard.web.api.reads.fleet import FLEET
from callboard.web.api.reads.jobs import JOB_EVENTS, JOBS
from callboard.web.api.reads.log import LOG

FOLLOWS = (PACKAGE_EVENTS, JOB_EVENTS)
READS = (*FLEET, *LOG, *EVENTS, *JOBS, *CLUSTER)
