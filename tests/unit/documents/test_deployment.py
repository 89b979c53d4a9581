"""The files in deploy/: callboard understands their commands and variables, and they are consistent."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from callboard.cli.app import app
from callboard.config import Loaded, load

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if "build" in service)
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
USAGE = (DEPLOY / "compose.yaml").read_text(encoding="utf-8").partition("\nname:")[0]


def filled_in(text: str) -> str:
    """The value that Compose takes when nothing is set in the environment."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def configured(service: str, **environ: str) -> Loaded:
    """The configuration in a container. Raises for a variable that is no setting, or has a wrong value."""
    given = {name: filled_in(str(value)) for name, value in SERVICES[service]["environment"].items()}
    return load(None, given | environ, cwd=Path("/var/lib/callboard"))


def understood(words: list[str]) -> str:
    """The command that callboard takes this for. Raises if it is none, or has an option or value that is wrong."""
    command: Any = typer.main.get_command(app)
    name, rest = "callboard", list(words)
    while hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    command.make_context(name, rest)
    return name


def test_images_are_pinned_to_one_version() -> None:
    images = {name: service["image"] for name, service in SERVICES.items() if name not in OURS}
    assert len(images) == 4
    for image in images.values():
        assert re.fullmatch(r"[a-z./]+:(\d+\.\d+(\.\d+)?|RELEASE\.[\dTZ-]+)", image), image


@pytest.mark.parametrize("name", OURS)
def test_callboard_understands_every_command(name: str) -> None:
    assert understood(SERVICES[name]["command"]) in ("publisher", "subscriber")


def test_the_check_finds_an_unknown_command() -> None:
    with pytest.raises(KeyError, match="subscribr"):
        understood(["run", "subscribr", "x"])
    with pytest.raises(Exception, match="No such option: --intoo"):
        understood(["run", "subscriber", "x", "--intoo", "y"])


@pytest.mark.parametrize("name", OURS)
def test_callboard_understands_every_variable(name: str) -> None:
    found = configured(name)
    assert found.config.log == "postgresql://callboard@postgres:5432/callboard"
    assert found.config.blobs == "/var/lib/callboard-blobs"
    for variable, value in re.findall(r"(CALLBOARD_(?:LOG|BLOBS))='?([^\s']+)", USAGE):
        assert value in configured(name, **{variable: value}).config.model_dump().values()


def test_the_servers_in_the_urls_are_services_and_their_profiles_exist() -> None:
    hosts = set(re.findall(r"(?:@|kafka://|http://)([a-z]+):\d+", USAGE + filled_in(str(COMPOSE["x-callboard"]))))
    assert hosts == {"postgres", "kafka", "minio"}
    assert hosts <= SERVICES.keys()
    profiles = {profile for service in SERVICES.values() for profile in service.get("profiles", ())}
    assert profiles == set(re.findall(r"--profile (\w+)", USAGE)) == {"kafka", "s3"}


def test_services_that_others_wait_for_exist_and_have_a_health_check() -> None:
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "healthcheck" in SERVICES[other]
            assert how.get("required", True) or "profiles" in SERVICES[other]


def test_volumes_are_declared_and_the_user_of_callboard_owns_its_own() -> None:
    mounts = {name: [text.split(":") for text in service.get("volumes", ())] for name, service in SERVICES.items()}
    named = {mount[0] for each in mounts.values() for mount in each if not mount[0].startswith(".")}
    assert named == COMPOSE["volumes"].keys()
    (declared,) = re.findall(r"^VOLUME (.+)$", DOCKERFILE, re.MULTILINE)
    written = {mount[1] for name in OURS for mount in mounts[name] if mount[2:] != ["ro"]}
    assert written == set(declared.split())
    assert "--owner callboard --group callboard /var/lib/callboard-blobs" in DOCKERFILE


def test_the_image_is_built_from_existing_files_with_the_clients_of_all_servers() -> None:
    build = COMPOSE["x-callboard"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in line.split():
            assert (DEPLOY.parent / source).exists(), source
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert set(extras.split(",")) == {"postgres", "kafka", "s3"}
    assert 'ENTRYPOINT ["callboard"]' in DOCKERFILE
    (health,) = re.findall(r'HEALTHCHECK .* CMD \["callboard", "(\w+)"\]', DOCKERFILE)
    assert understood([health]) == "status"


def test_callboard_understands_the_command_of_the_systemd_unit() -> None:
    unit = (DEPLOY / "systemd" / "callboard-subscriber@.service").read_text(encoding="utf-8")
    (words,) = re.findall(r"^ExecStart=\S+/callboard (.+)$", unit, re.MULTILINE)
    assert understood(words.replace("%i", "edge-1").split()) == "subscriber"
