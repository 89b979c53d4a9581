"""The resources for Kubernetes are valid and consistent. No cluster runs here."""

import re
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from callboard.config import load
from callboard.config.model import Config
from tests.deploy.files import DEPLOY, HEALTH, K8S, RESOURCES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns of its own imports
    import kubernetes_validate

PODS = {each["metadata"]["name"]: each["spec"]["template"] for each in RESOURCES if "template" in each["spec"]}
PART_OF = {"app.kubernetes.io/part-of": "callboard"}
"""The label that kustomization.yaml gives to all."""

OVERLAYS = sorted((DEPLOY / "k8s" / "overlays").iterdir())


def demand_valid(resource: dict[str, Any]) -> None:
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(resource, version, strict=True)


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, pod in PODS.items():
        yield from ((name, each) for each in pod["spec"]["containers"])


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_a_resource_is_valid(resource: dict[str, Any]) -> None:
    demand_valid(resource)


def test_a_misspelt_field_is_found() -> None:
    wrong = {**RESOURCES[0], "spec": {**RESOURCES[0]["spec"], "replica": 2}}
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        demand_valid(wrong)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_an_overlay_makes_valid_resources(overlay: Any) -> None:
    program = shutil.which("kustomize")
    if not program:
        pytest.skip("NOT BUILT: there is no kustomize on the PATH")
    done = subprocess.run([program, "build", overlay], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = list(yaml.safe_load_all(done.stdout))
    for resource in built:
        demand_valid(resource)
    pods = [each["spec"]["template"] for each in built if "template" in each.get("spec", ())]
    assert len(pods) == len(PODS)
    assert all(pod["metadata"]["labels"].items() >= PART_OF.items() for pod in pods)


def test_the_kustomization_lists_every_file() -> None:
    listed = yaml.safe_load((K8S / "kustomization.yaml").read_text(encoding="utf-8"))
    assert {*listed["resources"], "kustomization.yaml"} == {path.name for path in K8S.glob("*.yaml")}
    assert listed["configMapGenerator"] == [{"name": "callboard", "files": ["callboard.toml"]}]
    assert listed["labels"] == [{"pairs": PART_OF, "includeTemplates": True}]


def settings() -> Config:
    return load(K8S / "callboard.toml", {"CALLBOARD_LOG": "postgresql://postgres/callboard"}).config


def test_callboard_understands_its_configuration() -> None:
    assert settings().blobs == "s3://callboard/board"


def test_a_running_import_may_finish() -> None:
    grace_s = PODS["edge"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s >= 2 * settings().subscriber.stop_drain_s


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_no_privileges(name: str) -> None:
    spec = PODS[name]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"].items() >= {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001}.items()
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize(("name", "container"), list(containers()))
def test_a_container_is_probed_where_it_listens(name: str, container: dict[str, Any]) -> None:
    (port,) = container["ports"]
    assert container["args"][container["args"].index("--listen") + 1] == f"0.0.0.0:{port['containerPort']}"
    paths = [container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert {each["port"] for each in paths} == {port["name"]}
    if port["containerPort"] == HEALTH:
        assert [each["path"] for each in paths] == ["/livez", "/livez", "/readyz"]


def test_mounts_are_of_volumes_and_selectors_find_pods() -> None:
    claims = [claim for each in RESOURCES for claim in each["spec"].get("volumeClaimTemplates", ())]
    claimed = {claim["metadata"]["name"] for claim in claims}
    for pod in PODS.values():
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]} | claimed
        for container in pod["spec"]["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    labels = [pod["metadata"]["labels"] | PART_OF for pod in PODS.values()]
    for each in RESOURCES:
        spec = each["spec"]
        selector = spec.get("podSelector") or spec.get("selector", {})
        wanted = selector.get("matchLabels", selector)
        assert any(wanted and each.items() >= wanted.items() for each in labels), each["metadata"]


def test_secrets_are_only_referred_to() -> None:
    assert not [each for each in RESOURCES if each["kind"] == "Secret"]
    texts = [path.read_text(encoding="utf-8") for path in (DEPLOY / "k8s").rglob("*.*")]
    assert not re.findall(r"(?i)password|postgresql://\w+:\w+@", "".join(texts))
