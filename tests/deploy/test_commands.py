"""Every command of callboard in deploy/ is one that callboard has, with its options."""

import re
import shlex
from collections.abc import Iterator

import pytest

from tests.deploy.files import DEPLOY, DOCKERFILE, OURS, RESOURCES, SERVICES, UNITS, understood

IN_TEXT = re.compile(r"`callboard (\w[^`]*)`")
IN_EXAMPLE = re.compile(r"^#?(?: {2,}|\$ )\S.*\bcallboard (\w.*?)(?: +# .*)?$", re.MULTILINE)
IN_SHELL = re.compile(r"\| callboard (\w.*)$")


def commands() -> Iterator[tuple[str, list[str]]]:
    """Where it is written, and its words."""
    for name in OURS:
        words = SERVICES[name]["command"]
        shell = IN_SHELL.search(words[0])
        yield f"compose {name}", shlex.split(shell[1]) if shell else words
    for each in RESOURCES:
        for container in each["spec"].get("template", {}).get("spec", {}).get("containers", ()):
            yield f"kubernetes {container['name']}", container["args"]
    for unit in UNITS:
        (line,) = re.findall(r"^ExecStart=\S+/callboard (.+)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        yield unit.name, line.replace("%i", "edge-1").split()
    for path in sorted(DEPLOY.rglob("*")):
        if path.suffix in {".md", ".service", ".yaml"} or path.name == "Dockerfile":
            text = path.read_text(encoding="utf-8")
            for line in [*IN_TEXT.findall(text), *IN_EXAMPLE.findall(text)]:
                yield f"{path.name}: {line}", shlex.split(line.replace("NAME", "edge-1"))


COMMANDS = dict(commands())


@pytest.mark.parametrize("where", COMMANDS)
def test_callboard_understands_it(where: str) -> None:
    assert understood(COMMANDS[where])


def test_they_are_found_everywhere() -> None:
    places = " ".join(COMMANDS)
    for one in ("compose first-user", "kubernetes console", "callboard-worker.service", "README.md: ", "compose.yaml:"):
        assert one in places
    assert 'CMD ["--help"]' in DOCKERFILE


def test_an_unknown_command_is_found() -> None:
    with pytest.raises(KeyError, match="subscribr"):
        understood(["run", "subscribr", "x"])
    with pytest.raises(Exception, match="No such option: --intoo"):
        understood(["run", "subscriber", "x", "--intoo", "y"])
