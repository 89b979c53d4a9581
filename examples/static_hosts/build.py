"""Builds a release of the site: a page for each text in ``texts``.

    python build.py

It is built aside and moved into ``public/releases`` in one step, as the publisher watches that folder. The last three
releases stay there, and so on every host.
"""

import html
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

TEXTS, RELEASES, KEPT = Path("texts"), Path("public/releases"), 3


def build(into: Path) -> None:
    """Write the pages, and an index of them."""
    texts = sorted(TEXTS.glob("*.txt"))
    for text in texts:
        page = f"<h1>{html.escape(text.stem)}</h1>\n<p>{html.escape(text.read_text(encoding='utf-8').strip())}</p>\n"
        (into / f"{text.stem}.html").write_text(page, encoding="utf-8")
    links = "".join(f'<li><a href="{text.stem}.html">{text.stem}</a></li>\n' for text in texts)
    (into / "index.html").write_text(f"<ul>\n{links}</ul>\n", encoding="utf-8")


def release() -> Path:
    """Build, and put it beside the other releases. Their names sort by time."""
    RELEASES.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=RELEASES.parent.parent, prefix="building-"))
    aside.chmod(0o755)
    build(aside)
    done = aside.rename(RELEASES / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}")
    for old in sorted(RELEASES.iterdir())[:-KEPT]:
        shutil.rmtree(old)
    return done


if __name__ == "__main__":
    print(release())
