"""The first minute and the program in README.md run as they are written."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

TEXT = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")


def test_the_first_minute_can_be_typed_as_it_stands(newcomer):
    terminal = newcomer
    section = TEXT.partition("## Sixty seconds")[2]
    block = section.partition("```console\n")[2].partition("```")[0]
    commands = [shlex.split(line, comments=True)[1:] for line in block.splitlines()]
    assert [words[0] for words in commands[:2]] == ["pip", "mkdir"]
    said = []
    for program, *words in commands[2:]:
        assert program == "callboard"
        ending = ["--until-caught-up"] if words[0] == "run" else []  # where the page says Ctrl-C
        said.append(terminal.out(*words, *ending))
    assert "the queue of edge-1 is empty" in said[-2]
    assert (terminal.folder / "out" / "index.html").exists()


def test_the_program_in_the_readme_works_as_described(tmp_path):
    program = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "is on the log at offset 1" in done.stdout
    assert "edge-1 is stopped, 0 packages behind" in done.stdout
    assert done.stdout.endswith("<h1>Hello</h1>\n")
