"""The commands by their names."""

from importlib import metadata
from typing import Annotated

import typer

from callboard.cli import (
    archive,
    blobs,
    chaos,
    clear,
    command,
    delete,
    demo,
    doctor,
    errors,
    events,
    explain,
    forget,
    init,
    invalidate,
    log,
    metrics,
    migrate,
    pipeline,
    pipeline_archive,
    pipeline_collect,
    pipeline_demo,
    pipeline_export,
    pipeline_rebuild,
    publish,
    publisher_log,
    queue,
    ready,
    resend,
    reset,
    run_publisher,
    run_subscriber,
    seed,
    simulate,
    status,
    test,
    trim,
    verify,
)
from callboard.cli.options import BoardOptions, with_board_options

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
run = typer.Typer(no_args_is_help=True)
logs = typer.Typer(no_args_is_help=True)
large = typer.Typer(no_args_is_help=True)
pipelines = typer.Typer(no_args_is_help=True)
archives = typer.Typer(no_args_is_help=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"callboard {metadata.version('callboard')}")
        raise typer.Exit


@app.callback()
@with_board_options
def callboard(
    _: BoardOptions,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, and exit.")
    ] = False,
) -> None:
    """Distributes content from publishers to subscribers through one persisted log, and says who has what."""


# One line for each command.
app.command()(demo.demo)
app.command()(chaos.chaos)
app.command()(simulate.simulate)
app.command()(with_board_options(init.init))
app.add_typer(run, name="run", help="Run a subscriber or a publisher until it is stopped.")
run.command()(with_board_options(run_subscriber.subscriber))
run.command()(with_board_options(run_publisher.publisher))
app.command()(with_board_options(publish.publish))
app.command()(with_board_options(delete.delete))
app.command()(with_board_options(invalidate.invalidate))
app.command("test")(with_board_options(test.send_test))
app.command()(with_board_options(status.status))
app.command()(with_board_options(ready.ready))
app.command()(with_board_options(queue.queue))
app.command()(with_board_options(errors.errors))
app.command()(with_board_options(events.events))
app.command("publisher-log")(with_board_options(publisher_log.publisher_log))
app.command()(with_board_options(clear.clear))
app.command()(with_board_options(command.retry))
app.command()(with_board_options(command.skip))
app.command()(with_board_options(command.pause))
app.command()(with_board_options(command.resume))
app.command()(with_board_options(command.throttle))
app.command()(with_board_options(forget.forget))
app.command()(with_board_options(metrics.metrics))
app.add_typer(logs, name="log", help="Look at the log, or remove what is old from it.")
logs.command("list")(with_board_options(log.list_records))
logs.command()(with_board_options(log.grep))
logs.command()(with_board_options(log.show))
logs.command()(with_board_options(log.export))
logs.command()(with_board_options(resend.resend))
logs.command()(with_board_options(trim.trim))
app.command()(with_board_options(verify.verify))
app.command()(with_board_options(verify.repair))
app.command()(with_board_options(explain.explain))
app.command()(with_board_options(seed.seed))
app.command()(with_board_options(seed.snapshot))
app.command()(with_board_options(reset.reset))
app.add_typer(large, name="blobs", help="Look after large content.")
large.command("collect")(with_board_options(blobs.collect))
app.add_typer(archives, name="archive", help="Keep what is on the log in files, for as long as you like.")
archives.command()(with_board_options(archive.run))
archives.command()(with_board_options(archive.status))
archives.command()(with_board_options(archive.verify))
archives.command()(with_board_options(archive.compact))
archives.command()(with_board_options(archive.restore))
app.add_typer(pipelines, name="pipeline", help="Jobs on the whole log and its archive, done by Spark.")
pipelines.command()(with_board_options(pipeline_rebuild.rebuild))
pipelines.command("queue-at")(with_board_options(pipeline.queue_at))
pipelines.command()(with_board_options(pipeline.audit))
pipelines.command()(pipeline_demo.demo)
pipelines.command()(with_board_options(pipeline_archive.archive))
pipelines.command()(with_board_options(pipeline_collect.collect))
pipelines.command()(with_board_options(pipeline_export.export))
app.command()(with_board_options(doctor.doctor))
app.command()(with_board_options(migrate.migrate))
