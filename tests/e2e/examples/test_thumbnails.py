"""Each picture gets its thumbnail, though a worker is killed and a picture is still being written."""

import json
import sys
from collections.abc import Callable

from tests.e2e.examples.reader import Reader

MANY = 40

DRAW = f"""
from pathlib import Path
import ppm
Path("pictures").mkdir()
for number in range({MANY}):
    row = bytes([number, 100, 200]) * 640
    ppm.write(Path(f"pictures/{{number}}.ppm"), ppm.Picture(640, 480, row * 480))
whole = Path("pictures/0.ppm").read_bytes()
Path("pictures/late.ppm").write_bytes(whole[:1000])
Path("pictures/none.ppm").write_text("no picture")
"""


def test_a_killed_worker_loses_no_picture(reader: Callable[[str], Reader]) -> None:
    its = reader("thumbnails")
    its.run("callboard", "init")
    its.run("python", "-c", DRAW)
    worker = its.start("callboard", "run", "worker", "thumbnails:jobs", "--member", "one", "--slots", "1")
    its.start("callboard", "run", "worker", "thumbnails:jobs", "--member", "two", "--slots", "1")
    made = its.folder / "thumbnails"
    adding = its.start(sys.executable, "add.py")
    its.until(lambda: made.exists() and len(list(made.glob("*.ppm"))) > MANY // 4)
    worker.kill()
    worker.wait()
    late = its.folder / "pictures" / "late.ppm"
    late.write_bytes((its.folder / "pictures" / "0.ppm").read_bytes())
    assert its.until(lambda: adding.poll() is not None)
    assert adding.returncode == 0, its.said
    told = [line for line in its.said.splitlines() if line.startswith(("succeeded", "error"))]
    assert f"{MANY + 2} pictures have no thumbnail yet" in its.said
    assert [line for line in told if not line.startswith("succeeded")] == [
        "error: none.ppm is no picture of the sort P6 255"
    ]
    assert {path.stem for path in made.iterdir()} == {"late", *map(str, range(MANY))}
    assert (made / "0.ppm").read_bytes().startswith(b"P6\n64 48\n255\n")

    assert its.run("python", "add.py").splitlines()[0] == "1 pictures have no thumbnail yet", "that which is none"
    [schedule] = json.loads(its.run("callboard", "schedules", "--json"))["data"]
    assert schedule["name"] == "pictures"
