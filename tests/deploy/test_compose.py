"""The Compose file is valid and consistent. No container runs here."""

import re
from pathlib import Path

import compose_spec
import pytest

from callboard.config import Loaded, load
from tests.deploy.files import COMPOSE, DEPLOY, DOCKERFILE, HEALTH, OURS, SERVICES

TEXT = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
USAGE = TEXT.partition("\nname:")[0]


def filled_in(text: str) -> str:
    """The value that Compose takes when nothing is set in the environment."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def configured(service: str, **environ: str) -> Loaded:
    """The configuration in a container. Raises for a variable that is no setting, or has a wrong value."""
    given = {name: filled_in(str(value)) for name, value in SERVICES[service]["environment"].items()}
    return load(None, given | environ, cwd=Path("/var/lib/callboard"))


def test_it_is_a_valid_compose_file() -> None:
    read = compose_spec.PyOptions(apply_merge=True)
    read.from_yaml(TEXT).validate()
    with pytest.raises(Exception, match="`comand`"):
        read.from_yaml(TEXT.replace("    command: [run", "    comand: [run"))


def test_images_are_pinned_to_one_version() -> None:
    images = {name: service["image"] for name, service in SERVICES.items() if name not in OURS}
    assert len(images) == 8
    for image in images.values():
        assert re.fullmatch(r"[a-z./-]+:(v?\d+\.\d+(\.\d+)?|RELEASE\.[\dTZ-]+)", image), image


@pytest.mark.parametrize("name", [name for name in OURS if name != "first-user"])
def test_callboard_understands_every_variable(name: str) -> None:
    found = configured(name)
    assert found.config.log == "postgresql://callboard@postgres:5432/callboard"
    assert found.config.blobs == "/var/lib/callboard-blobs"
    for variable, value in re.findall(r"(CALLBOARD_(?:LOG|BLOBS))='?([^\s']+)", USAGE):
        assert value in configured(name, **{variable: value}).config.model_dump().values()


def test_the_servers_in_the_urls_are_services_and_their_profiles_exist() -> None:
    hosts = set(re.findall(r"(?:@|kafka://|http://)([a-z]+):\d+", USAGE + filled_in(str(COMPOSE["x-callboard"]))))
    assert hosts - {"localhost"} == {"postgres", "kafka", "minio", "collector"}
    assert hosts - {"localhost"} <= SERVICES.keys()
    profiles = {profile for service in SERVICES.values() for profile in service.get("profiles", ())}
    assert profiles == set(re.findall(r"--profile (\w+)", USAGE)) == {"kafka", "s3", "observability"}


def test_services_that_others_wait_for_exist_and_have_a_health_check() -> None:
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or other in OURS or "healthcheck" in SERVICES[other]
            assert how.get("required", True) or "profiles" in SERVICES[other]


def test_volumes_are_declared_and_the_user_of_callboard_owns_its_own() -> None:
    mounts = {name: [text.split(":") for text in service.get("volumes", ())] for name, service in SERVICES.items()}
    named = {mount[0] for each in mounts.values() for mount in each if not mount[0].startswith(".")}
    assert named == COMPOSE["volumes"].keys()
    (declared,) = re.findall(r"^VOLUME (.+)$", DOCKERFILE, re.MULTILINE)
    written = {mount[1] for name in OURS for mount in mounts[name] if mount[2:] != ["ro"]}
    assert written == set(declared.split())


def test_processes_are_probed_and_scraped_where_they_listen() -> None:
    listening = {name for name in OURS if f"0.0.0.0:{HEALTH}" in SERVICES[name]["command"]}
    assert {name for name in OURS if "healthcheck" not in SERVICES[name]} == listening
    assert set(re.findall(rf'"([\w-]+):{HEALTH}"', COMPOSE["configs"]["scrape"]["content"])) == listening


def test_only_the_proxy_connects_to_the_console() -> None:
    subnet = COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"]
    console = SERVICES["console"]["command"]
    assert console[console.index("--trusted-proxy") + 1] == subnet
    assert {name for name in SERVICES if "front" in SERVICES[name].get("networks", ())} == {"console", "https"}
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", OURS)
def test_containers_cannot_gain_privileges(name: str) -> None:
    service = SERVICES[name]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
