"""The hook of every host: points ``current`` at the newest release, once that is complete."""

from pathlib import Path

from callboard import HookCall


def switch(call: HookCall) -> None:
    """Switch by one rename, so that no visitor sees half of a release.

    A hook is called at least once for each package, and while later packages are imported. That does no harm here:
    every release has a folder of its own, which does not change, and ``current`` never goes back to an older one.
    """
    written = [change.path.split("/") for change in call.changes.all() if not change.removed]
    releases = {parts[2] for parts in written if parts[1] == "releases" and len(parts) > 3}
    content = Path(call.into)
    current, new = content.with_name("current"), content.with_name("current.new")
    for newest in sorted(releases)[-1:]:
        if (content / "releases" / newest).is_dir() and newest > (current.resolve().name if current.exists() else ""):
            new.unlink(missing_ok=True)
            new.symlink_to(Path(content.name, "releases", newest))
            new.replace(current)
