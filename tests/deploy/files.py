"""What is in deploy/, and whether callboard understands it."""

from pathlib import Path
from typing import Any

import typer
import yaml

from callboard.cli.app import app

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
K8S = DEPLOY / "k8s" / "base"

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if "build" in service)

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))

RESOURCES: list[dict[str, Any]] = [
    each for file in sorted(K8S.glob("*.yaml")) if file.name != "kustomization.yaml"
    for each in yaml.safe_load_all(file.read_text(encoding="utf-8"))
]  # fmt: skip

HEALTH = 8478
"""The port of /livez, /readyz and /metrics in containers."""


def understood(words: list[str]) -> str:
    """The command that callboard takes this for. Raises if it is none, or has an option or value that is wrong."""
    command: Any = typer.main.get_command(app)
    name, rest = "callboard", list(words)
    while hasattr(command, "commands"):
        if not rest and not command.default:
            return name  # a group is spoken of
        name = rest.pop(0) if not command.default or (rest and rest[0] in command.commands) else command.default
        command = command.commands[name]
    command.make_context(name, rest)
    return name
