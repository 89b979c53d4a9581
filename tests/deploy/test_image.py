"""The image is built of existing files, with the clients of all servers, and runs as nobody in particular."""

import re
import tomllib

from tests.deploy.files import COMPOSE, DEPLOY, DOCKERFILE, HEALTH

PROJECT = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_is_built_from_existing_files() -> None:
    build = COMPOSE["x-callboard"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Dockerfile")
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in line.split():
            assert (DEPLOY.parent / source).exists(), source


def test_it_has_what_the_other_files_use() -> None:
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", DOCKERFILE, re.MULTILINE)
    used = {"postgres", "kafka", "s3", "web", "otel"}
    assert PROJECT["optional-dependencies"].keys() >= set(extras.split(",")) >= used
    (python,) = set(re.findall(r"^FROM python:(3\.\d+)-slim", DOCKERFILE, re.MULTILINE))
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    assert "opentelemetry-distro" in DOCKERFILE


def test_it_runs_as_an_ordinary_user_who_owns_its_volumes() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
    assert "--home-dir /var/lib/callboard --create-home" in DOCKERFILE
    assert "--owner callboard --group callboard /var/lib/callboard-blobs" in DOCKERFILE


def test_its_first_process_reaps_others_and_its_health_is_that_of_its_own_process() -> None:
    assert 'ENTRYPOINT ["tini", "--", "callboard"]' in DOCKERFILE
    assert COMPOSE["x-callboard"]["entrypoint"][:2] == ["tini", "--"]
    (probe,) = re.findall(r'HEALTHCHECK [^C]*CMD \["python", "-c", "(.*)"\]', DOCKERFILE)
    assert f"http://127.0.0.1:{HEALTH}/livez" in probe
    compile(probe, "probe", "exec")
