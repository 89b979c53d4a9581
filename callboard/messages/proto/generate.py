"""Generates ``callboard/messages/_pb`` from the schemas beside this file: ``python generate.py [--check]``.

With ``--check`` nothing is written; it exits with 1 when the committed code does not match the schemas.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEMAS = Path(__file__).resolve().parent
GENERATED = SCHEMAS.parent / "_pb"
ROOT = SCHEMAS.parents[2]

OLDEST_RUNTIME = (6, 31, 1)
"""Generated code refuses a protobuf runtime older than the compiler that made it, so the code is made by
a compiler no newer than the oldest runtime that callboard allows."""
COMPILER = "grpcio-tools==1.80.0"
"""A compiler of that version."""

STAMP = re.compile(r"# Protobuf Python Version: (\d+)\.(\d+)\.(\d+)|Domain\.PUBLIC,\s+\d+,\s+\d+,\s+\d+,")
"""The compiler's version in the generated code; apart from this, compilers generate the same code."""


def main(arguments: list[str]) -> int:
    """Generate, or check; returns the exit code."""
    code = compiled()
    if arguments == ["--check"]:
        return check(code)
    if arguments:
        return complain(f"unknown arguments {arguments}; the only one is --check")
    if age(code) > OLDEST_RUNTIME:
        return complain(f"this compiler's code would refuse older protobuf runtimes; install {COMPILER}")
    for stale in GENERATED.glob("*.py"):
        stale.unlink()
    for name, text in code.items():
        (GENERATED / name).write_text(text)
    return 0


def compiled() -> dict[str, str]:
    """What ``_pb`` should hold, by file name."""
    code = {"__init__.py": '"""Generated from ../proto by generate.py; do not edit."""\n'}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}", f"--python_out={folder}"]
        subprocess.run([*command, *map(str, sorted(SCHEMAS.glob("*.proto")))], check=True)  # noqa: S603
        for path in sorted(Path(folder).rglob("*_pb2.py")):
            # The compiler expects the code beside the schemas; ours has its own folder.
            text = path.read_text().replace("callboard.messages.proto", "callboard.messages._pb")
            code[path.name] = f"# mypy: ignore-errors\n{text}"
    return code


def check(code: dict[str, str]) -> int:
    """1 when the committed code differs from ``code`` in more than the compiler's version, else 0."""
    wanted = {name: STAMP.sub("", text) for name, text in code.items()}
    committed = {path.name: STAMP.sub("", path.read_text()) for path in GENERATED.glob("*.py")}
    wrong = sorted({name for name, _ in wanted.items() ^ committed.items()})
    if wrong:
        return complain(f"{', '.join(wrong)} in {GENERATED} differ from the schemas; run generate.py without --check")
    return 0


def age(code: dict[str, str]) -> tuple[int, ...]:
    """The version of the compiler that generated the code."""
    stamps = (STAMP.search(text) for text in code.values())
    return max(tuple(map(int, stamp.groups())) for stamp in stamps if stamp)


def complain(what: str) -> int:
    """Report what is wrong, and return the exit code of a failure."""
    sys.stderr.write(f"generate.py: {what}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
