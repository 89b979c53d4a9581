import json
import os
import subprocess
import sys
from pathlib import Path

PROBE = """
import asyncio, json, logging, os, signal, sys, threading
from pathlib import Path

def state():
    return {
        "environment": dict(os.environ),
        "root handlers": [repr(handler) for handler in logging.getLogger().handlers],
        "root level": logging.getLogger().level,
        "threads": threading.active_count(),
        "sockets": [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
                    if os.path.exists(f"/proc/self/fd/{fd}")].count("socket:"),
        "signals": {str(number): str(id(signal.getsignal(number))) for number in signal.valid_signals()},
        "children": Path("/proc/self/task", str(os.getpid()), "children").read_text(),
        "temporary files": sorted(os.listdir(os.environ["TMPDIR"])),
    }

async def main():
    before = state()
    from callboard.actors.runtime import start_agent
    from callboard.testing.conformance.runtime_example import example_agent, word
    agent = await start_agent(example_agent(Path("diary")))
    await agent.ask("echo", word("hello"), 10)
    during = state()
    await agent.stop(1)
    print(json.dumps([before, during, state(), sorted(map(str, Path().iterdir()))]))

import structlog
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
asyncio.run(main())
"""


def test_an_embedded_agent_changes_nothing_in_its_process(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    environment = {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    before, during, after, files = json.loads(done.stdout)
    assert during == before
    assert after == before
    assert files == ["diary"]
    assert done.stderr == ""
