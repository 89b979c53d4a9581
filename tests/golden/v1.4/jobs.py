"""What the bytes beside this file stand for: the messages about jobs, which version 1.4 added. Written once, never
changed.
"""

from callboard.messages.jobs.job_mail import (
    LeasedJob,
    Noted,
    TellCluster,
    WatchWork,
    Work,
    WorkerReport,
    WorkerReported,
)
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobContext,
    JobEnd,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    JobsSnapshotMessage,
    QueueOrder,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.jobs.job_snapshots import JobRows, JobsState, KeptJobs, ScheduleState, WorkerLeases
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage

CONTEXT = JobContext(names=("request_id",), values=("r-7",))
OPTIONS = JobOptions(
    job=1, due_ms=1_700_000_000_000, priority=5, lane="customer-7", unique="order-12", unique_ms=60_000, retries=3,
    timeout_ms=30_000, title="Order 12", after=(4096, -1024), after_counts=(2, 1), after_failures=True,
)  # fmt: skip
QUEUE = JobQueue(
    name="mail-{0}", topics=("mail/*",), order=QueueOrder.ORDERED, parallel=2, cluster_parallel=5, retries=-1,
    delay_ms=500, delay_max_ms=60_000, growth_percent=150, timeout_ms=10_000, ranking=7, retry_exceptions=False,
    prefer_creator=True, crashes=3, keep_ms=1_000, keep_failed_ms=2_000, rate=100, rate_ms=60_000,
    quiet_ms=5_000, tags=("gpu",),
)  # fmt: skip
END = JobEnd(job=0, message="no such address", result=b'{"sent":1}', retry_ms=250)
ENDED = JobsEndedMessage(
    worker="c0ffee", jobs=(4096, 4097), leases=(9, 9), outcomes=(0, 3), run_ms=(12, 0), ends=(END,)
)  # fmt: skip
PROGRESS = JobProgress(
    job=4096, steps=10, step=3, eta_ms=1_700_000_000_000, lines=("read", "sorted"), saved=b"3", lease=9, number=2,
    said=7,
)  # fmt: skip
PROGRESSED = JobsProgressedMessage(worker="c0ffee", progress=(PROGRESS,))
WORKER = WorkerMessage(
    instance="web-1", incarnation="c0ffee", slots=10, topics=("mail/*",), member_epoch=41, host="host-1",
    deny=("mail/big",), tags=("gpu",),
)  # fmt: skip
GONE = WorkerGoneMessage(incarnation="c0ffee", cluster_log="log-1", epoch=40)
LEASED = LeasedJob(
    job=4096, topic="mail/send", payload=b'{"to":"x"}', creator="web-2", attempt=2, timeout_ms=10_000,
    retry_exceptions=False, lease=9, after=(4095,), after_counts=(1,), quiet_ms=5_000, saved=b"3", suspect=True,
    context=CONTEXT,
)  # fmt: skip
ROWS = JobRows(rows=1, columns=(b"\1\0", b"\2"))
KEPT = KeptJobs(keep_ms=1_000, jobs=b"\1\0\0\0\0\0\0\0")
LEASES = WorkerLeases(worker="c0ffee", jobs=(4096,), leases=(9,))
SCHEDULE = ScheduleState(
    message=ScheduleMessage(name="hourly", topic="a", every_ms=3_600_000), suspended=True, base_ms=5, last_ms=4,
    set_at=3,
)

INSTANCES = [
    OPTIONS,
    JobsAddedMessage(
        request="r-1", creator="web-2", topics=("mail/send",), topic_of=(0, 0), payloads=(b"{}", b'{"to":"x"}'),
        options=(OPTIONS,), schedule="daily", tick_ms=1_700_000_000_000, earlier=("r-0",),
        void_from=9000, schedule_set=4, contexts=(JobContext(), CONTEXT), context_of=(1, 0),
    ),
    JobsLeasedMessage(
        cluster_log="log-1", epoch=40, dispatcher="dada", workers=("c0ffee",), worker_of=(0, 0),
        jobs=(4096, 4097), read_to=8, read_ms=1_700_000_000_000,
    ),
    END,
    ENDED,
    WORKER,
    GONE,
    QUEUE,
    JobCommandMessage(
        author="ann", reason="full", stop=(1,), drop=(2, 3), suspend="a", resume="b", configure=QUEUE, remove="c",
        forget=(4,),
    ),
    PROGRESS,
    PROGRESSED,
    ScheduleMessage(
        name="daily", author="ann", topic="mail/send", payload=b"{}", options=JobOptions(job=0, unique="daily"),
        cron=("30 3 * * *",), every_ms=60_000, at_ms=1_700_000_000_000, zone="Europe/Berlin", catch_up=3,
        suspended=True,
    ),
    ScheduleCommandMessage(author="ann", reason="full", suspend="a", resume="b", remove="c"),
    JobsSnapshotMessage(
        log_id="log-2", as_of=9, writer="dada", part=1, content=b"packed", parts=2, digest=b"sha-256",
    ),
    ROWS,
    KEPT,
    LEASES,
    SCHEDULE,
    JobsState(
        cluster_log="log-1", epoch=40, dispatcher="dada", recent=(9,), recent_ms=(7,), queues=(JobQueue(name="a"),),
        suspended=("b",),
        topics=("mail/send",), workers=(WORKER,), leases=(LEASES,), stopping=(4096,), rows=(ROWS,), option_jobs=(4097,),
        options=(JobOptions(job=1),), due_jobs=(4097,), due_ms=(5,), lanes=("customer-7",), lane_jobs=(4097,),
        keys=("order-12",), key_jobs=(4097,), key_until_ms=(9,), history=(KEPT,), schedules=(SCHEDULE,),
        requests=("r-1",), request_offsets=(4,), rate_queues=("a",), rate_first_ms=(5,), rate_last_ms=(6,),
        rate_starts=(7,), since_ms=8, topic_tallies=(1, 2, 3, 4, 5, 6, 7, 8, 9), tally_workers=("web-1",),
        worker_tallies=(9, 8, 7, 6, 5, 4, 3, 2, 1),
        suspects=(4096,), creator_jobs=(4097,), creators=("host-1",),
        saved_jobs=(4096,), saved=(b"3",), present=(PROGRESS,), past=(PROGRESS,),
    ),
    LEASED,
    CONTEXT,
    Work(leased=(LEASED,), revoked=(1, 2), stopping=(3,), problem="gap", detail="records were removed", stranger=True),
    WatchWork(worker="c0ffee", known=(4096,), leases=(9,), stopping=(4096,), wait_ms=5_000),
    Noted(),
    TellCluster(cluster_log="log-1", epoch=41, incarnation="dada", standing=True, members=("dada",)),
    WorkerReported(offset=7),
    WorkerReport(ended=ENDED, progressed=PROGRESSED, worker=WORKER, gone=GONE),
]  # fmt: skip
