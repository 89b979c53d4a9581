"""Builds the documentation as a site, into ``build/docs``: the pages of this folder, those at the top of the
repository, and the reference of commands, settings and Python names that is generated from the code.

Works without a network. A warning, such as a link to nowhere, is an error.
"""

import dataclasses
import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import typer
from pydantic import BaseModel
from sphinx.cmd.build import build_main

from callboard.cli.app import app
from callboard.cli.command_group import Group
from callboard.config import Config

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SOURCES, SITE = ROOT / "build" / "docs-sources", ROOT / "build" / "docs"

OTHERS = {
    "README.md": "readme.md", "ARCHITECTURE.md": "architecture.md", "STYLE.md": "style.md", "SECURITY.md": "policy.md",
    "CHANGELOG.md": "changelog.md", "deploy/README.md": "deploy.md", "examples/README.md": "examples.md",
}  # fmt: skip
"""Pages from elsewhere in the repository, and their names on the site."""

PYTHON = {
    "callboard": "The board, its arguments, answers and errors.",
    "callboard.sync": "The same, for code without an event loop.",
    "callboard.actors": "Events, entities, processes, projections, reactions and agents of your own.",
    "callboard.testing.actors": "Tests of your own actors.",
    "callboard.testing.boards": "Tests of your service, on a board in memory.",
    "callboard.web": "The console in your own service.",
    "callboard.telemetry": "For your own log lines: the span that they belong to.",
}
"""Packages whose public names are documented."""

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def build() -> int:
    """Build the site; the exit code of Sphinx."""
    for folder in (SOURCES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    keep = shutil.ignore_patterns("*.py", "__pycache__", "0000-template.md", "schema")
    shutil.copytree(DOCS, SOURCES, ignore=keep)
    shutil.copy(DOCS / "conf.py", SOURCES)
    for source, name in OTHERS.items():
        shutil.copy(ROOT / source, SOURCES / name)
    origins = {SOURCES / name: ROOT / source for source, name in OTHERS.items()}
    for page in SOURCES.rglob("*.md"):
        origin = origins.get(page, DOCS / page.relative_to(SOURCES))
        page.write_text(_linked(page.read_text(encoding="utf-8"), page, origin), encoding="utf-8")
    generated = SOURCES / "generated"
    generated.mkdir()
    (generated / "commands.md").write_text("".join(commands()), encoding="utf-8")
    (generated / "settings.md").write_text("".join(settings()), encoding="utf-8")
    shown: set[int] = set()
    for package, about in PYTHON.items():
        (generated / f"{package}.rst").write_text("".join(_python(package, about, shown)), encoding="utf-8")
    return build_main(["-q", "-W", "--keep-going", "-j", "auto", str(SOURCES), str(SITE)])


def _linked(text: str, page: Path, origin: Path) -> str:
    """The text with links as they are on the site: what is not on it is only named."""
    known = {(ROOT / source).resolve(): SOURCES / name for source, name in OTHERS.items()}

    def link(found: re.Match[str]) -> str:
        words, where, anchor = found.groups()
        target = (origin.parent / where).resolve()
        if target in known:
            there = known[target]
        elif target.is_relative_to(DOCS) and target.is_file() and target.suffix in {".md", ".png", ".svg"}:
            there = SOURCES / target.relative_to(DOCS)
        elif target == DOCS / "adr":
            there = SOURCES / "decisions.md"
        elif target.exists():
            return words
        else:
            return found.group()  # Sphinx reports it
        upwards = "../" * (len(page.relative_to(SOURCES).parts) - 1)
        return f"[{words}]({upwards}{there.relative_to(SOURCES)}{anchor or ''})"

    return LINK.sub(link, text)


def commands() -> Iterator[str]:
    """A section for each command: how it is called, and its options."""
    yield "# Commands\n\nEvery command, as `--help` describes it. "
    yield "[The reference](../reference.md#commands) has an overview.\n\n"
    yield from _commands(typer.main.get_command(app), ("callboard",))


def _commands(group: Group, words: tuple[str, ...]) -> Iterator[str]:
    for name, each in group.commands.items():
        here = (*words, name)
        if isinstance(each, Group):
            yield from _commands(each, here)
            continue
        command = each.command()
        context = typer.Context(command, info_name=" ".join(here))
        yield f"## {' '.join(here)}\n\n{command.help}\n\n"
        yield f"```console\n$ {' '.join((*here, *command.collect_usage_pieces(context)))}\n```\n\n"
        records = filter(None, (param.get_help_record(context) for param in command.get_params(context)))
        rows = [f"| `{_code(option)}` | {_cell(about)} |\n" for option, about in records]
        yield "| option | |\n|---|---|\n" + "".join(rows) + "\n"


def _code(text: str) -> str:
    return text.replace("|", "\\|")


def _cell(text: str) -> str:
    return re.sub(r"([|<>*_\[\]\\])", r"\\\1", " ".join(text.split()))


def settings() -> Iterator[str]:
    """A table for each section of ``callboard.toml``."""
    yield "# Settings\n\nThe keys of `callboard.toml`. "
    yield "[The reference](../reference.md#configuration) says where else they may be set.\n\n"
    alone = [(name, field) for name, field in Config.model_fields.items() if not isinstance(field.default, BaseModel)]
    yield "## At the top\n\n" + _settings((name, field) for name, field in alone if field.description)
    for name, field in Config.model_fields.items():
        if isinstance(field.default, BaseModel):
            about = (type(field.default).__doc__ or "").strip().partition("\n")[0]
            yield f"## [{name}]\n\n{about}\n\n" + _settings(type(field.default).model_fields.items())


def _settings(fields: "Iterator[tuple[str, object]]") -> str:
    rows = "".join(f"| `{name}` | `{field.default!r}` | {field.description} |\n" for name, field in fields)
    return f"| key | default | meaning |\n|---|---|---|\n{rows}\n"


def _python(package: str, about: str, shown: set[int]) -> Iterator[str]:
    """Every public name of the package that is not ``shown`` yet. The fields of a dataclass are in its signature."""
    module, title = import_module(package), f"``{package}``"
    yield f"{title}\n{'=' * len(title)}\n\n{about}\n\n"
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if id(value) in shown:
            continue
        shown.add(id(value))
        directive, left_out = "autodata", ""
        if inspect.isclass(value):
            fields = [each.name for each in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
            directive, left_out = "autoclass", ", ".join((*fields, "code", *getattr(value, "__annotations__", ())))
        elif callable(value):
            directive = "autofunction"
        yield f".. {directive}:: {package}.{name}\n"
        yield f"   :members:\n   :exclude-members: {left_out}\n\n" if directive == "autoclass" else "\n"


if __name__ == "__main__":
    sys.exit(build())
