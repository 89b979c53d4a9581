"""``callboard pipeline collect``: finds unused blobs in a store of any size, and removes them after a grace period."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callboard.cli.options import BoardOptions, Json, Yes
from callboard.cli.pipeline.jobs import Archive, Partitions, run_job
from callboard.cli.subscribers.clear import confirm
from callboard.cli.terminal.output import say, show, show_json
from callboard.units import count, size

if TYPE_CHECKING:
    from callboard.pipeline.run import Run

MAX_SHARE = 0.5
"""If more than half of the blobs seem unused, the log is more likely the wrong one."""


def collect(
    options: BoardOptions,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Keeps the list of quarantined blobs.")],
    delete: Annotated[
        bool, typer.Option("--delete", help="Remove what has been quarantined for janitor.grace_hours.")
    ] = False,
    max_share: Annotated[
        float, typer.Option("--max-share", min=0, max=1, help="Refuse to remove a larger share of all blobs.")
    ] = MAX_SHARE,
    archive: Archive = "",
    partitions: Partitions = 2,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Quarantine blobs that nothing on the log or in the archive needs; --delete removes them later."""
    config = options.load().config
    grace_s, place = config.janitor.grace_hours * 3600, archive or config.archive.place

    def mark(run: "Run") -> Any:
        from callboard.pipeline.collect.collect import mark

        return mark(run, out.absolute(), grace_s)

    def sweep(run: "Run") -> Any:
        from callboard.pipeline.collect.collect import sweep

        return sweep(run, out.absolute(), grace_s, max_share)

    if delete and not yes:
        from callboard.pipeline.collect.marked_blobs import load

        found, _ = load(out.absolute())
        confirm(
            f"nothing but this log and its archive uses this blob store; remove {count(found.candidates, 'blob')}, "
            f"{size(found.candidate_bytes)}?"
        )
    done, report = run_job("collect", options, place, partitions, sweep if delete else mark)
    if json:
        show_json({"swept" if delete else "quarantine": done, "report": report.to_data()})
        return
    for name, read in report.topics.items():
        show(f"{name}: {count(read['records'], 'record')} of [{read['start']}, {read['stop']})")
    if delete:
        show(f"removed {count(done.removed, 'blob')}, {size(done.removed_bytes)}; of "
             f"{done.candidates} in quarantine, {done.needed} are needed again")  # fmt: skip
    else:
        show(f"{count(done.blobs, 'blob')}, {size(done.length)}; in quarantine {done.candidates}, "
             f"{size(done.candidate_bytes)}")  # fmt: skip
        if done.share > max_share:
            say(f"warning: that is more than {max_share:.0%} of all blobs; --delete will refuse it without --max-share")
    show(f"{report.job} took {report.seconds:.1f} s")
