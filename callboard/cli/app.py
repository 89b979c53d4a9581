"""The commands by their names; see ``command_group`` for how they are imported."""

from typing import Annotated, Any

import typer

from callboard.cli.command_group import Entry, Group, group
from callboard.cli.options import BoardOptions, with_board_options
from callboard.version import __version__

# One line for each command. A test compares the help with the docstrings.
COMMANDS: dict[str, Entry | Group] = {
    "demo": Entry("demo:demo",
        "Distribute a real tree to six subscribers while actors are killed, and compare every byte.",
        board=False),
    "chaos": Entry("chaos:chaos",
        "Run a fleet under faults of processes, server, network, disk and descriptors, and compare every byte.",
        board=False),
    "simulate": Entry("simulate:simulate",
        "Simulate fleets, or clusters, under faults, and compare everything with a simple model.",
        board=False),
    "init": Entry("init:init",
        "Write callboard.toml with every setting explained, unless it exists, and create the log.", changes=True),
    "run": group("Run a subscriber, a publisher or a worker until it is stopped.", {
        "subscriber": Entry("run.subscriber:subscriber",
            "Run a subscriber: import every package into its repository until Ctrl-C or SIGTERM.", changes=True),
        "publisher": Entry("run.publisher:publisher",
            "Run a publisher: keep its views warm, apply the retention, and ship requests or changed files.",
            changes=True),
        "worker": Entry("run.worker:worker",
            "Run a worker: run jobs as a member of the cluster until Ctrl-C or SIGTERM, then let those that run end.",
            changes=True),
    }),
    "jobs": group("Show jobs and their queues, add jobs, and command them.", {
        "list": Entry("jobs.listing:list_jobs", "List jobs, the oldest first; runs without a name."),
        "show": Entry("jobs.listing:show", "Show a job: state, payload, result, and why it failed."),
        "add": Entry("jobs.add:add",
            "Add a job; with --wait, wait for its result: exit code 1 unless it succeeds in time.", changes=True),
        "stop": Entry("jobs.command:stop",
            "Stop jobs: those that wait end, those that run are told to.", changes=True),
        "drop": Entry("jobs.command:drop",
            "End jobs at once: those that run are cancelled, and their results ignored.", changes=True),
        "retry": Entry("jobs.command:retry",
            "Add a job that has ended once more, under a new id.", changes=True),
        "queues": Entry("jobs.listing:queues", "Show what waits, runs and has ended in each queue."),
        "watch": Entry("jobs.listing:watch",
            "Show what waits, runs and has ended in each queue, as it changes, until Ctrl-C."),
        "suspend": Entry("jobs.command:suspend",
            "Start no more jobs of a queue; those that run go on.", changes=True),
        "resume": Entry("jobs.command:resume", "Start jobs of a suspended queue again.", changes=True),
        "configure": Entry("jobs.command:configure",
            "Add a queue, or replace all settings of the one with this name.", changes=True),
    }, default="list"),
    "publish": Entry("publishing.publish:publish",
        "Ship a folder, or paths in it, as one package.", changes=True),
    "delete": Entry("publishing.delete:delete",
        "Remove paths, and everything below them, from the subscribers.", changes=True),
    "invalidate": Entry("publishing.invalidate:invalidate",
        "Tell subscribers that paths changed, in order with content; their repositories stay as they are.",
        changes=True),
    "test": Entry("publishing.test:send_test",
        "Append a package that does nothing; with --wait, check that all live subscribers process it.", changes=True),
    "status": Entry("status.status:status",
        "Show every subscriber and publisher: state, how far behind, why, and which command helps."),
    "ready": Entry("status.ready:ready", "Check whether a subscriber may serve: exit code 0 if so, 1 if not (yet)."),
    "queue": Entry("status.queue:queue",
        "Show the packages that a subscriber, or the slowest of a cohort, has not processed yet, oldest first."),
    "errors": Entry("status.errors:errors",
        "Show the packages that subscribers gave up, quarantined or could not finish, why, and what can be done."),
    "events": Entry("status.events:events",
        "Show the newest events: what happened to packages, as running publishers record it."),
    "publisher-log": Entry("status.publisher_log:publisher_log",
        "Show a publisher's log: the newest errors that subscribers reported, and what all of them have."),
    "clear": Entry("subscribers.clear:clear",
        "Have a subscriber remove packages from its queue without importing them: all of them by default.",
        changes=True),
    "retry": Entry("subscribers.command:retry",
        "Have a subscriber retry now what it waits for, quarantined, or gave up.", changes=True),
    "skip": Entry("subscribers.command:skip",
        "Have a subscriber skip one package for good, or dismiss one that it gave up.", changes=True),
    "pause": Entry("subscribers.command:pause",
        "Have a subscriber import nothing until `callboard resume`.", changes=True),
    "resume": Entry("subscribers.command:resume", "End the pause of a subscriber.", changes=True),
    "throttle": Entry("subscribers.command:throttle",
        "Limit a subscriber to this many packages a minute.", changes=True),
    "forget": Entry("subscribers.forget:forget",
        "Forget a subscriber that never returns: nothing waits for it any more. Its next announcement undoes this.",
        changes=True),
    "metrics": Entry("status.metrics:metrics",
        "Print the board's metrics in the text format of Prometheus, such as for node exporter's textfiles."),
    "log": group("Show, search, export and trim the log.", {
        "list": Entry("log.records:list_records",
            "List the newest records, oldest first; a record that cannot be decoded shows why."),
        "grep": Entry("log.records:grep",
            "Find records by their paths, users, publishers, subscribers, ids and reasons."),
        "show": Entry("log.records:show", "Show one record: headers, message, and the content of a package."),
        "export": Entry("log.records:export",
            "Write the content of a package to a folder or .tar file, or with --ndjson the records.", changes=True),
        "resend": Entry("log.resend:resend",
            "Send a package again, as a new one with the same content, to all subscribers or only some.",
            changes=True),
        "trim": Entry("log.trim:trim",
            "Remove the oldest records, by the limits given or else by [retention].", changes=True),
    }),
    "verify": Entry("subscribers.verify:verify",
        "Compare a subscriber's content with what the log says it should be; exit with 1 if it differs."),
    "repair": Entry("subscribers.verify:repair",
        "Ship exactly the differences to one subscriber, then verify it again.", changes=True),
    "explain": Entry("status.explain:explain",
        "Show which package brought a path to a subscriber, and what happened to newer ones."),
    "seed": Entry("subscribers.seed:seed",
        "Fill the repository of a new subscriber, position included: it then imports only later packages.",
        changes=True),
    "snapshot": Entry("subscribers.seed:snapshot",
        "Write content and position of a stopped subscriber to one file, for `callboard seed`.",
        changes=True),
    "reset": Entry("subscribers.reset:reset",
        "Have a stopped subscriber forget its position, or continue at another package; its content stays.",
        changes=True),
    "blobs": group("Manage the blob store, which holds large content.", {
        "collect": Entry("blobs:collect",
            "Find blobs that no record on the log needs, and that are older than janitor.grace_hours.",
            changes=True),
    }),
    "archive": group("Archive the log to files, and restore it.", {
        "run": Entry("archive:run",
            "Archive new records, then exit; run it from a timer.", changes=True),
        "status": Entry("archive:status", "Show what is archived, and how far behind the log it is."),
        "verify": Entry("archive:verify", "Read the whole archive, and report what is missing or altered."),
        "compact": Entry("archive:compact",
            "Merge small files, and remove what was replaced more than a day ago.", changes=True),
        "restore": Entry("archive:restore",
            "Restore the archive to an empty log, with the same offsets; resumes after an interruption.",
            changes=True),
    }),
    "pipeline": group("Run Spark jobs on the whole log and its archive.", {
        "rebuild": Entry("pipeline.rebuild:rebuild",
            "Rebuild every projection from the log: positions, queues, errors, latencies, failure rates.",
            changes=True),
        "queue-at": Entry("pipeline.jobs:queue_at",
            "Show the queues as they were at an offset or a time; by default, as they are now."),
        "audit": Entry("pipeline.jobs:audit",
            "Report who shipped a path and when, and since when each subscriber has it: as tables and HTML.",
            changes=True),
        "demo": Entry("pipeline_demo:demo",
            "Archive a log, trim it, lose it, restore it; seed subscribers from it, compare every byte, and audit it.",
            board=False),
        "archive": Entry("pipeline.archive:archive",
            "Archive new records by parallel tasks, into the same files as `callboard archive run`.",
            changes=True),
        "collect": Entry("pipeline.collect:collect",
            "Quarantine blobs that nothing on the log or in the archive needs; --delete removes them later.",
            changes=True),
        "export": Entry("pipeline.export:export",
            "Ship a tree of any size as many packages, built in parallel; resumes after an interruption.",
            changes=True),
    }),
    "topology": group("Show the cluster on the log: its members, its leader, its history; or command it.", {
        "demo": Entry("topology_demo:demo",
            "Kill the leader of five services twice, drain the third, and check what the leaders counted.",
            board=False),
        "show": Entry("topology.show:show",
            "Show the members in their order, the leader, and whether the view is settled; runs without a name."),
        "history": Entry("topology.history:history",
            "Show the newest changes: who joined, left or was evicted and why, leaders, commands."),
        "explain": Entry("topology.explain:explain",
            "Explain a view: the record that made it, the evidence, who acknowledged it when, and refusals nearby."),
        "watch": Entry("topology.history:watch",
            "Show changes as they come, until Ctrl-C."),
        "drain": Entry("topology.command:drain",
            "Exclude a member from leadership until it restarts; with --undo, include it again.", changes=True),
        "evict": Entry("topology.command:evict",
            "Remove a member, even if its lease runs.", changes=True),
        "transfer": Entry("topology.command:transfer", "Make a member the leader.", changes=True),
        "freeze": Entry("topology.command:freeze",
            "Have no member evicted, except by command; with --undo, end that.", changes=True),
        "configure": Entry("topology.command:configure",
            "Change settings of the cluster: lease, deadlines, budget of evictions.", changes=True),
    }, default="show"),
    "doctor": Entry("status.doctor:doctor",
        "Check configuration, servers, clocks, permissions and the fleet; exit with 1 if something needs attention."),
    "migrate": Entry("migrate:migrate",
        "Update the schema of a PostgreSQL log. Stop the board's processes first.", changes=True),
}  # fmt: skip


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"callboard {__version__}")
        raise typer.Exit


@with_board_options
def callboard(
    _: BoardOptions,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, and exit.")
    ] = False,
) -> None:
    """Distribute content from publishers to subscribers through one persisted log, and see who has what."""


class Root(Group):
    """All commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.add(COMMANDS)


app = typer.Typer(
    cls=Root, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
    context_settings={"max_content_width": 120},
)  # fmt: skip
app.callback()(callboard)
