"""The commands by their names; see ``command_group`` for how they are imported."""

from typing import Annotated, Any

import typer

from callboard.cli.command_group import Entry, Group, group
from callboard.cli.options import BoardOptions, with_board_options
from callboard.version import __version__

# One line for each command. A test compares the help with the docstrings.
COMMANDS: dict[str, Entry | Group] = {
    "demo": Entry("demo:demo",
        "Distribute a real tree to six subscribers while actors are being killed, and compare every byte.",
        board=False),
    "chaos": Entry("chaos:chaos",
        "Strike a fleet's processes, server, network, disk and descriptors, and compare every byte at the end.",
        board=False),
    "simulate": Entry("simulate:simulate",
        "Simulate fleets in which everything fails, and compare every repository, status and queue with a naive model.",
        board=False),
    "init": Entry("init:init",
        "Write callboard.toml with every setting explained, unless it is there, and create the log.", changes=True),
    "run": group("Run a subscriber or a publisher until it is stopped.", {
        "subscriber": Entry("run.subscriber:subscriber",
            "Run a subscriber: import every package into its repository until Ctrl-C or SIGTERM.", changes=True),
        "publisher": Entry("run.publisher:publisher",
            "Run a publisher: keep its views warm and the log within its retention, ship what is asked for or changed.",
            changes=True),
    }),
    "publish": Entry("publishing.publish:publish",
        "Ship a folder, or paths in it, as one package.", changes=True),
    "delete": Entry("publishing.delete:delete",
        "Have paths, and everything below them, removed from the subscribers.", changes=True),
    "invalidate": Entry("publishing.invalidate:invalidate",
        "Tell subscribers that paths changed, in order with content, for what they do then: their repositories stay.",
        changes=True),
    "test": Entry("publishing.test:send_test",
        "Append a package that does nothing; with --wait, see that all live subscribers get past it.", changes=True),
    "status": Entry("status.status:status",
        "Show every subscriber and publisher: state, how far behind, why, and what can be done about it."),
    "ready": Entry("status.ready:ready", "Tell whether a subscriber may serve: exit code 0 if it may, 1 if not (yet)."),
    "queue": Entry("status.queue:queue",
        "Show the packages that a subscriber, or the slowest of a cohort, has not processed yet, oldest first."),
    "errors": Entry("status.errors:errors",
        "Show the packages that subscribers gave up on, hold back, or could not finish, why, and what can be done."),
    "events": Entry("status.events:events",
        "Show what became of packages, as running publishers write it: the newest events, or those that come."),
    "publisher-log": Entry("status.publisher_log:publisher_log",
        "Show the newest lines of a publisher's log: errors that subscribers reported, and what all of them have."),
    "clear": Entry("subscribers.clear:clear",
        "Have a subscriber treat queued packages as done, without importing them: all, unless told how many.",
        changes=True),
    "retry": Entry("subscribers.command:retry",
        "Have a subscriber try again now: what it waits for, has set aside, or gave up.", changes=True),
    "skip": Entry("subscribers.command:skip",
        "Have a subscriber pass over one package for good, or dismiss one that it gave up.", changes=True),
    "pause": Entry("subscribers.command:pause",
        "Have a subscriber import nothing until it is told to resume.", changes=True),
    "resume": Entry("subscribers.command:resume", "Have a paused subscriber go on.", changes=True),
    "throttle": Entry("subscribers.command:throttle",
        "Have a subscriber import no more packages a minute than this.", changes=True),
    "forget": Entry("subscribers.forget:forget",
        "Forget a subscriber that never comes back: nothing waits for it any more. Its next word undoes it.",
        changes=True),
    "metrics": Entry("status.metrics:metrics",
        "Print the figures of the board in the text format of Prometheus, such as for a node exporter's textfile."),
    "log": group("Look at the log, or remove what is old from it.", {
        "list": Entry("log.records:list_records",
            "List the newest records, oldest first; those that cannot be decoded with the reason."),
        "grep": Entry("log.records:grep",
            "Find records by their paths, users, publishers, subscribers, ids and reasons."),
        "show": Entry("log.records:show", "Show one record: headers, message, and what is in a package."),
        "export": Entry("log.records:export",
            "Take the content of a package out of the log, or with --ndjson its records.", changes=True),
        "resend": Entry("log.resend:resend",
            "Send a package again: a new one with the same content, for all subscribers or only for some.",
            changes=True),
        "trim": Entry("log.trim:trim",
            "Remove the oldest records: by the limits given, else by [retention] of the configuration.", changes=True),
    }),
    "verify": Entry("subscribers.verify:verify",
        "Compare what a subscriber has with what the log says it should have; exit with 1 if it differs."),
    "repair": Entry("subscribers.verify:repair",
        "Ship exactly what differs to this one subscriber; then verify it again.", changes=True),
    "explain": Entry("status.explain:explain",
        "Say which package brought a path to a subscriber, and what became of the newer ones."),
    "seed": Entry("subscribers.seed:seed",
        "Fill the repository of a new subscriber, with the position: it then imports only what came after that.",
        changes=True),
    "snapshot": Entry("subscribers.seed:snapshot",
        "Write content and position of a subscriber that does not run into one file, for `callboard seed`.",
        changes=True),
    "reset": Entry("subscribers.reset:reset",
        "Have a subscriber that does not run forget its position, or go on with another package; its content stays.",
        changes=True),
    "blobs": group("Look after large content.", {
        "collect": Entry("blobs:collect",
            "Find the blobs that no record on the log needs; what was put within janitor.grace_hours is spared.",
            changes=True),
    }),
    "archive": group("Keep what is on the log in files, for as long as you like.", {
        "run": Entry("archive:run",
            "Archive what is new on the log, and end; to be run again and again, by a timer.", changes=True),
        "status": Entry("archive:status", "Show what is archived, and how far behind the log it is."),
        "verify": Entry("archive:verify", "Read the whole archive, and say what is missing or altered."),
        "compact": Entry("archive:compact",
            "Rewrite small files into large ones, and remove what was replaced more than a day ago.", changes=True),
        "restore": Entry("archive:restore",
            "Put the archive back on an empty log, under the same offsets; goes on where it was interrupted.",
            changes=True),
    }),
    "pipeline": group("Jobs on the whole log and its archive, done by Spark.", {
        "rebuild": Entry("pipeline.rebuild:rebuild",
            "Rebuild every projection from the log: positions, queues, errors, latencies, failure rates.",
            changes=True),
        "queue-at": Entry("pipeline.jobs:queue_at",
            "Show the queues as they were at an offset or a time; as they are if neither is given."),
        "audit": Entry("pipeline.jobs:audit",
            "Say who shipped a path and when, and which subscribers have it since when: as tables, and as HTML.",
            changes=True),
        "demo": Entry("pipeline_demo:demo",
            "Archive a log, trim it, lose it, restore it; seed subscribers from it, compare every byte, and audit it.",
            board=False),
        "archive": Entry("pipeline.archive:archive",
            "Archive what is new on the log, by tasks side by side; the same files as `callboard archive run`.",
            changes=True),
        "collect": Entry("pipeline.collect:collect",
            "Put blobs under quarantine that no record on the log or in the archive needs; with --delete remove those.",
            changes=True),
        "export": Entry("pipeline.export:export",
            "Ship a tree of any size as packages built side by side and published in order; goes on where it was.",
            changes=True),
    }),
    "doctor": Entry("status.doctor:doctor",
        "Check configuration, servers, clocks, permissions and the fleet; exit with 1 if anybody needs anything."),
    "migrate": Entry("migrate:migrate",
        "Bring the schema of a PostgreSQL log up to date. Stop the board's processes before.", changes=True),
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
    """Distributes content from publishers to subscribers through one persisted log, and says who has what."""


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
