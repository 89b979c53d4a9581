"""What a reader of the job topic knows, as a digest: readers of the same records have the same."""

import hashlib

from callboard.actors.jobs.jobs import Jobs


def digest(jobs: Jobs) -> str:
    """The digest of all that does not depend on when it was asked."""
    table = jobs.table
    rows = [row for row in zip(table.ids, table.topics, table.states, table.attempts, table.crashes, table.since_ms,
                               table.ended_at, strict=True) if table.find(row[0]) >= 0]  # fmt: skip
    known = (
        rows, jobs.topics, sorted(jobs.options.items()), [jobs.queue_of(each) for each in range(len(jobs.topics))],
        sorted(jobs.workers.items()), sorted(jobs.leases.items()), sorted(jobs.stopping),
        sorted(jobs.suspects), sorted(jobs.reports.present.items()), sorted(jobs.reports.saved.items()),
        {name: list(its.items()) for name, its in sorted(jobs.leased_to.items())}, jobs.fence, jobs.recent,
        sorted(jobs.requests.items()), {its.message.name: its for its in jobs.schedules}, sorted(jobs.queues.suspended),
        sorted(jobs.rates), [(job, jobs.flows.waits_for(job)) for job in sorted(jobs.options)],
    )  # fmt: skip
    return hashlib.sha256(repr(known).encode()).hexdigest()
