"""Every pod passes the restricted Pod Security Standard and further requirements of hardened clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .charts import Object, containers, object_of, pods, render
from .values import CASES

TRIAL_SERVERS = {"StatefulSet/lin-headwater-kafka", "StatefulSet/lin-headwater-neo4j"}
WITH_TOKEN = {"kubernetes": "StatefulSet/lin-headwater", "sparkOperator": "SparkApplication/lin-headwater:driver"}
VOLUMES = {"configMap", "emptyDir", "persistentVolumeClaim", "secret", "projected", "csi", "downwardAPI", "ephemeral"}


def breaches(pod: Object) -> Iterator[str]:
    """Return the violations of the restricted standard (Kubernetes' Pod Security Standards, version 1.34)."""
    spec = pod["spec"]
    whole = spec.get("securityContext", {})
    if any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")):
        yield "shares a namespace of the host"
    for volume in spec.get("volumes", ()):
        if not (volume.keys() - {"name"}) <= VOLUMES:
            yield f"volume {volume['name']} is of a forbidden kind"
    for box in containers(pod):
        own = box.get("securityContext", {})
        name = box["name"]
        if own.get("privileged") or own.get("allowPrivilegeEscalation") is not False:
            yield f"{name} may gain privileges"
        if own.get("capabilities", {}).get("drop") != ["ALL"] or own["capabilities"].get("add"):
            yield f"{name} keeps capabilities"
        if (
            not own.get("runAsNonRoot", whole.get("runAsNonRoot"))
            or own.get("runAsUser", whole.get("runAsUser", 1)) == 0
        ):
            yield f"{name} may run as root"
        if own.get("seccompProfile", whole.get("seccompProfile", {})).get("type") != "RuntimeDefault":
            yield f"{name} has no seccomp profile"
        if any("hostPort" in port for port in box.get("ports", ())):
            yield f"{name} takes a port of the host"


@pytest.mark.parametrize("case", CASES)
def test_pods_pass_the_restricted_standard(case: str) -> None:
    found = list(pods(render(CASES[case])))
    assert len(found) >= 3
    assert [f"{where}: {breach}" for where, pod in found for breach in breaches(pod)] == []


def test_a_violation_is_found() -> None:
    pod = object_of(render(CASES["least"]), "Pod")
    bad = {
        **pod,
        "spec": {**pod["spec"], "securityContext": {}, "hostNetwork": True, "volumes": [{"name": "x", "hostPath": {}}]},
    }
    bad["spec"]["containers"] = [{"name": "c", "securityContext": {"capabilities": {"drop": []}}}]
    assert len(list(breaches(bad))) == 6


@pytest.mark.parametrize("case", CASES)
def test_root_file_systems_are_read_only_and_tmp_is_writable(case: str) -> None:
    for where, pod in pods(render(CASES[case])):
        if where in TRIAL_SERVERS:
            continue
        for box in containers(pod):
            assert box["securityContext"]["readOnlyRootFilesystem"] is True, where
            mounts = {mount["mountPath"] for mount in box["volumeMounts"]}
            assert "/tmp" in mounts or box["name"] == "keystore", where


@pytest.mark.parametrize("case", CASES)
def test_only_a_driver_with_executors_has_a_token(case: str) -> None:
    allowed = WITH_TOKEN.get(CASES[case].get("mode", "local"))
    for where, pod in pods(render(CASES[case])):
        assert pod["spec"]["automountServiceAccountToken"] is (where == allowed), where


@pytest.mark.parametrize("case", CASES)
def test_every_container_has_resource_requests(case: str) -> None:
    for where, pod in pods(render(CASES[case])):
        for box in containers(pod):
            # Spark itself sets those of driver and executors, from their cores and memory.
            if box["name"].startswith("spark-kubernetes"):
                continue
            assert box["resources"]["requests"].keys() >= {"cpu", "memory"}, where
            assert "memory" in box["resources"]["limits"], where


@pytest.mark.parametrize("case", CASES)
def test_no_object_is_cluster_wide_and_no_rule_has_a_star(case: str) -> None:
    objects = render(CASES[case])
    assert not {item["kind"] for item in objects} & {"ClusterRole", "ClusterRoleBinding", "Namespace"}
    for item in objects:
        for rule in item.get("rules", ()) if item["kind"] == "Role" else ():
            assert "*" not in rule["verbs"] + rule["resources"]
            assert "secrets" not in rule["resources"]


@pytest.mark.parametrize("case", CASES)
def test_no_secret_is_written(case: str) -> None:
    objects = render(CASES[case])
    assert not [item for item in objects if item["kind"] == "Secret"]
    named = [entry for _, pod in pods(objects) for box in containers(pod) for entry in box.get("env", ())]
    assert all("valueFrom" in entry for entry in named if "PASSWORD" in entry["name"] or "USERNAME" in entry["name"])


@pytest.mark.parametrize("case", CASES)
def test_every_volume_is_mounted_and_every_mount_has_its_volume(case: str) -> None:
    for where, pod in pods(render(CASES[case])):
        mounted = {mount["name"] for box in containers(pod) for mount in box.get("volumeMounts", ())}
        templates = {"data"} if where in TRIAL_SERVERS else set()
        assert mounted == {volume["name"] for volume in pod["spec"].get("volumes", ())} | templates, where


@pytest.mark.parametrize("case", CASES)
def test_selectors_choose_their_own_pods_and_no_others(case: str) -> None:
    objects = render(CASES[case])
    labels = {where: pod["metadata"].get("labels", {}) for where, pod in pods(objects)}
    for item in objects:
        if item["kind"] in ("StatefulSet", "Deployment"):
            wanted = item["spec"]["selector"]["matchLabels"].items()
            chosen = {where for where, found in labels.items() if wanted <= found.items()}
            assert chosen == {f"{item['kind']}/{item['metadata']['name']}"}
        if item["kind"] == "Service":
            wanted = item["spec"]["selector"].items()
            assert any(wanted <= found.items() for found in labels.values()), item["metadata"]["name"]


def test_network_policies_deny_other_traffic() -> None:
    for item in render(CASES["everything-kubernetes"]):
        if item["kind"] == "NetworkPolicy":
            assert item["spec"]["policyTypes"] == ["Ingress", "Egress"]
            # A rule without ports and peers would allow all traffic.
            assert all(
                rule.get("ports") or rule.get("from") or rule.get("to")
                for way in ("ingress", "egress")
                for rule in item["spec"][way]
            )
    policy = object_of(render(CASES["least"] | {"networkPolicy": {"enabled": True}}), "NetworkPolicy")
    ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
    assert ports == {53, 9092, 9093, 9094, 7687}
    open_ports = [
        [rule.get("ports") for rule in item["spec"]["egress"]]
        for item in render(CASES["everything-kubernetes"])
        if item["kind"] == "NetworkPolicy"
    ]
    assert [[{"port": 8081, "protocol": "TCP"}] in ports for ports in open_ports] == [True, True]
