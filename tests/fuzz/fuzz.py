"""Fuzz every target for some seconds, in turn: ``fuzz.py SECONDS [TARGET ...]``; exits with 1 if an input failed.

What failed is put into ``found``, where ``test_fuzzing.py`` runs it from then on.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import target

HERE = Path(__file__).resolve().parent
INPUT_BYTES_MAX = 4096
HANG_S = 10
MEMORY_MB = 1024


def fuzz(name: str, seconds: int, base: Path) -> bool:
    """Whether nothing failed."""
    corpus, artifacts = base / "corpus" / name, base / "artifacts" / name
    for folder in (corpus, artifacts):
        folder.mkdir(parents=True)
    for data in target.load(name).seeds:
        (corpus / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
    options = {
        "max_total_time": seconds,
        "max_len": INPUT_BYTES_MAX,
        "timeout": HANG_S,
        "rss_limit_mb": MEMORY_MB,
        "artifact_prefix": f"{artifacts}/",
        "print_final_stats": 1,
    }
    command = [sys.executable, str(HERE / "harness.py"), name, *(f"-{key}={value}" for key, value in options.items())]
    ended = subprocess.run(
        [*command, str(corpus)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    kept = keep(name, artifacts)
    runs = [line.split()[-1] for line in ended.stdout.splitlines() if "number_of_executed_units" in line]
    print(f"{name}: {runs[-1] if runs else 'an unknown number of'} inputs, {len(kept)} failed", flush=True)
    if kept or ended.returncode:
        print(ended.stdout[-3000:], *(f"kept as {path}" for path in kept), sep="\n", flush=True)
    return not ended.returncode


def keep(name: str, artifacts: Path) -> list[Path]:
    kept = []
    for path in sorted(artifacts.iterdir()):
        kept.append(HERE / "found" / name / path.name[:24])
        kept[-1].parent.mkdir(parents=True, exist_ok=True)
        kept[-1].write_bytes(path.read_bytes())
    return kept


if __name__ == "__main__":
    memory = Path("/dev/shm")  # much faster, where there is one
    if memory.is_dir():
        os.environ["TMPDIR"] = str(memory)
    with tempfile.TemporaryDirectory(prefix="callboard-fuzz-") as folder:
        good = [fuzz(name, int(sys.argv[1]), Path(folder)) for name in sys.argv[2:] or target.NAMES]
    sys.exit(not all(good))
