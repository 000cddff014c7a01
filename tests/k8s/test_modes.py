"""The objects of each mode of Spark and of each optional part."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from headwater_consumer.config import load
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.session import spark_conf

from .charts import CHART, SERVERS, Object, merged, object_of, render
from .test_settings import consumer, environment
from .values import CASES, SHARED, TRIAL

KUBERNETES = merged(SERVERS, SHARED, {"mode": "kubernetes"})
OPERATOR = merged(SERVERS, SHARED, {"mode": "sparkOperator"})


def driver(values: dict[str, Any]) -> Object:
    found: Object = object_of(render(values), "StatefulSet")["spec"]["template"]["spec"]
    return found


def test_the_grace_period_covers_the_longest_batch() -> None:
    assert driver(SERVERS)["terminationGracePeriodSeconds"] == 150
    assert driver(merged(SERVERS, {"neo4j": {"writeTimeout": 20.5}}))["terminationGracePeriodSeconds"] == 51
    given = merged(SERVERS, {"consumer": {"terminationGracePeriodSeconds": 60}})
    assert driver(given)["terminationGracePeriodSeconds"] == 60


def test_an_unavailable_server_does_not_restart_the_process() -> None:
    (box,) = driver(SERVERS)["containers"]
    assert box["livenessProbe"]["httpGet"]["path"] == box["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert box["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {port["name"]: port["containerPort"] for port in box["ports"]}["http"] == 8080


def test_executors_get_the_service_name_of_the_driver() -> None:
    objects = render(KUBERNETES)
    conf = load(environ=consumer(KUBERNETES)).settings.spark_conf
    stateful, service = object_of(objects, "StatefulSet"), object_of(objects, "Service")
    assert conf["spark.driver.host"] == f"lin-headwater-0.{service['metadata']['name']}.data.svc"
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    assert conf["spark.kubernetes.driver.pod.name"] == f"{stateful['metadata']['name']}-0"
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    ports = {port["name"]: str(port["port"]) for port in service["spec"]["ports"]}
    assert ports["driver"] == conf["spark.driver.port"]
    assert ports["blocks"] == conf["spark.driver.blockManager.port"]


def test_the_programs_spark_settings_do_not_override_those_of_the_chart() -> None:
    from pathlib import Path

    settings = load(environ=consumer(KUBERNETES)).settings
    whole = spark_conf(settings, [], Path("/log4j2.properties"))
    assert settings.spark_conf.items() <= whole.items()
    assert whole["spark.driver.host"].startswith("lin-headwater-0.")


def test_executors_use_the_template_of_the_driver() -> None:
    conf = load(environ=consumer(KUBERNETES)).settings.spark_conf
    mounts = {mount["mountPath"]: mount["name"] for mount in driver(KUBERNETES)["containers"][0]["volumeMounts"]}
    folder, _, file = conf["spark.kubernetes.executor.podTemplateFile"].rpartition("/")
    volume = next(volume for volume in driver(KUBERNETES)["volumes"] if volume["name"] == mounts[folder])
    template = object_of(render(KUBERNETES), "ConfigMap", volume["configMap"]["name"])
    assert file in template["data"]


def test_the_driver_has_only_the_rights_that_spark_needs() -> None:
    objects = render(KUBERNETES)
    (rule,) = object_of(objects, "Role")["rules"]
    assert "deletecollection" in rule["verbs"]
    (subject,) = object_of(objects, "RoleBinding")["subjects"]
    assert subject["name"] == driver(KUBERNETES)["serviceAccountName"]
    assert not [item for item in render(SERVERS) if item["kind"] in ("Role", "RoleBinding")]


SPARK_APPLICATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "sparkVersion", "mainApplicationFile", "driver", "executor"],
    "properties": {
        "type": {"enum": ["Java", "Python", "Scala", "R"]},
        "pythonVersion": {"enum": ["2", "3"]},
        "mode": {"enum": ["cluster", "client"]},
        "sparkVersion": {"type": "string"},
        "image": {"type": "string"},
        "imagePullPolicy": {"type": "string"},
        "imagePullSecrets": {"type": "array", "items": {"type": "string"}},
        "mainApplicationFile": {"type": "string"},
        "restartPolicy": {"properties": {"type": {"enum": ["Never", "Always", "OnFailure"]}}},
        "sparkConf": {"type": "object", "additionalProperties": {"type": "string"}},
        **{
            role: {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "cores": {"type": "integer", "minimum": 1},
                    "instances": {"type": "integer"},
                    "memory": {"type": "string", "pattern": "^[0-9]+[mg]$"},
                    "memoryOverhead": {"type": "string", "pattern": "^[0-9]+[mg]$"},
                    "serviceAccount": {"type": "string"},
                    "template": {"type": "object"},
                },
            }
            for role in ("driver", "executor")
        },
    },
}
"""The fields of sparkoperator.k8s.io/v1beta2 that the chart writes."""


@pytest.mark.parametrize("values", [OPERATOR, CASES["everything-operator"]])
def test_the_operator_accepts_the_application(values: dict[str, Any]) -> None:
    spec = object_of(render(values), "SparkApplication")["spec"]
    assert [error.message for error in Draft202012Validator(SPARK_APPLICATION).iter_errors(spec)] == []
    assert not [item for item in render(values) if item["kind"] == "StatefulSet"]


def test_the_driver_of_the_operator_drains_before_its_jvm_gets_a_signal() -> None:
    application = object_of(render(OPERATOR), "SparkApplication")["spec"]
    template = application["driver"]["template"]["spec"]
    (box,) = template["containers"]
    assert box["name"] == "spark-kubernetes-driver"
    assert box["lifecycle"]["preStop"]["exec"]["command"] == ["drain"]
    assert template["terminationGracePeriodSeconds"] == 150
    assert application["mainApplicationFile"].endswith("/consume.py")
    assert environment(render(OPERATOR), box)["HEADWATER_SPARK_MASTER"].startswith("k8s://")


def test_further_settings_of_the_operator_are_passed_on() -> None:
    given = merged(OPERATOR, {"sparkOperator": {"spec": {"timeToLiveSeconds": 5, "driver": {"cores": 3}}}})
    spec = object_of(render(given), "SparkApplication")["spec"]
    assert (spec["timeToLiveSeconds"], spec["driver"]["cores"], spec["driver"]["memory"]) == (5, 3, "1g")


def test_without_hooks_the_jobs_stay() -> None:
    jobs = [item for item in render(CASES["gitops"]) if item["kind"] == "Job"]
    assert len(jobs) == 2
    assert not any("annotations" in job["metadata"] for job in jobs)
    assert all(
        re.fullmatch(r"lin-headwater-(topics|graph-schema)-[0-9a-f]{8}", job["metadata"]["name"]) for job in jobs
    )


def test_hooks_run_before_the_consumer_unless_the_release_contains_their_servers() -> None:
    def moments(values: dict[str, Any]) -> str:
        hook: str = object_of(render(values), "Job")["metadata"]["annotations"]["helm.sh/hook"]
        return hook

    assert moments(SERVERS) == "pre-install,pre-upgrade"
    assert moments(TRIAL) == "post-install,post-upgrade"


@pytest.mark.parametrize("case", ["least", "secure", "gitops", "everything-kubernetes"])
def test_a_hook_needs_no_object_of_the_release(case: str) -> None:
    values = CASES[case]
    objects = render(values)
    own = {
        item["metadata"]["name"]
        for item in objects
        if item["kind"] in ("ConfigMap", "ServiceAccount", "PersistentVolumeClaim")
    }
    for job in (item for item in objects if item["kind"] == "Job"):
        used = set(
            re.findall(r'"(?:name|claimName|serviceAccountName|secretName)": "([^"]+)"', json.dumps(job["spec"]))
        )
        assert not used & own


def test_strimzi_objects_have_version_v1() -> None:
    objects = render(CASES["strimzi"])
    strimzi = [item for item in objects if item["kind"].startswith("Kafka")]
    assert {item["apiVersion"] for item in strimzi} == {"kafka.strimzi.io/v1"}
    assert {item["metadata"]["namespace"] for item in strimzi} == {"kafka"}
    topics = {item["spec"]["topicName"]: item["spec"] for item in strimzi if item["kind"] == "KafkaTopic"}
    assert topics["lineage.events"]["config"] == {"retention.ms": -1}
    assert topics["lineage.events.dead"]["config"]["retention.ms"] == -1
    rights = object_of(objects, "KafkaUser")["spec"]["authorization"]["acls"]
    assert {rule["resource"].get("name") for rule in rights} == {*topics, "headwater-consumer", None}


def test_the_trial_servers_are_used() -> None:
    objects = render(TRIAL)
    variables = environment(
        objects, object_of(objects, "StatefulSet", "lin-headwater")["spec"]["template"]["spec"]["containers"][0]
    )
    services = {
        item["metadata"]["name"]: item["spec"]["ports"][0]["port"] for item in objects if item["kind"] == "Service"
    }
    kafka, _, port = variables["HEADWATER_KAFKA_BOOTSTRAP_SERVERS"].partition(":")
    assert services[kafka] == int(port)
    neo4j, _, bolt = variables["HEADWATER_NEO4J_URI"].removeprefix("bolt://").partition(":")
    assert services[neo4j] == int(bolt)
    assert "bitnami" not in json.dumps(objects)


def test_optional_objects_are_absent_by_default() -> None:
    kinds = sorted(item["kind"] for item in render(SERVERS))
    assert kinds == sorted(
        ["ConfigMap", "Job", "PersistentVolumeClaim", "Pod", "Service", "ServiceAccount", "StatefulSet"]
    )


def test_the_web_pods_are_spread_and_scaled() -> None:
    objects = render(CASES["web"])
    (box,) = object_of(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert box["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert box["readinessProbe"]["httpGet"]["path"] == "/readyz?for=any"
    deployment = object_of(objects, "Deployment")
    assert "replicas" not in deployment["spec"]
    assert (
        object_of(objects, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"]
        == deployment["metadata"]["name"]
    )
    spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread[0]["labelSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
    for kind in ("Ingress", "HTTPRoute"):
        assert "lin-headwater-web" in json.dumps(object_of(objects, kind)["spec"])


def ingress(**values: Any) -> dict[str, Any]:
    layers = merged(CASES["web"], {"web": {"ingress": {"enabled": True, "tls": [], **values}}})
    return dict(object_of(render(layers), "Ingress")["spec"])


def backends(spec: dict[str, Any]) -> list[tuple[str | None, str, str, str]]:
    return [
        (rule.get("host"), path["path"], path["pathType"], path["backend"]["service"]["name"])
        for rule in spec["rules"]
        for path in rule["http"]["paths"]
    ]


def test_hosts_of_an_ingress_have_paths_as_in_other_charts() -> None:
    hosts = [
        {"host": "lineage.example.org", "paths": [{"path": "/", "pathType": "ImplementationSpecific"}]},
        {
            "host": "events.example.org",
            "paths": [{"path": "/api/v1/lineage", "pathType": "Exact"}, {"path": "/healthz"}],
        },
        {"host": "all.example.org"},
        {"paths": [{"path": "/", "pathType": "Prefix"}]},
        "name.example.org",
    ]
    service = "lin-headwater-web"
    assert backends(ingress(hosts=hosts)) == [
        ("lineage.example.org", "/", "ImplementationSpecific", service),
        ("events.example.org", "/api/v1/lineage", "Exact", service),
        ("events.example.org", "/healthz", "Prefix", service),
        ("all.example.org", "/", "Prefix", service),
        (None, "/", "Prefix", service),
        ("name.example.org", "/", "Prefix", service),
    ]


def test_an_ingress_ends_tls_with_its_secrets() -> None:
    tls = [{"secretName": "lineage-tls", "hosts": ["lineage.example.org"]}, {"hosts": ["events.example.org"]}]
    spec = ingress(hosts=[{"host": "lineage.example.org"}, "events.example.org"], tls=tls, className="nginx")
    assert (spec["tls"], spec["ingressClassName"]) == (tls, "nginx")
    assert "tls" not in ingress(hosts=["lineage.example.org"])


NAMES = re.compile(r"headwater_[a-z_]+")


def metrics() -> set[str]:
    own = Metrics()
    own.lag.labels("t/0")
    own.seconds.labels("total")
    return set(NAMES.findall(own.text().decode()))


def test_the_metrics_of_alerts_and_panels_exist() -> None:
    objects = render(CASES["everything"])
    rules = [rule["expr"] for rule in object_of(objects, "PrometheusRule")["spec"]["groups"][0]["rules"]]
    dashboard = json.loads(object_of(objects, "ConfigMap", "-dashboard")["data"]["headwater.json"])
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queried = {name for text in (*rules, *panels) for name in NAMES.findall(text)}
    assert queried <= metrics()
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in metrics()}
    shown = {re.sub(r"_bucket$", "", name) for text in panels for name in NAMES.findall(text)}
    assert {name for name in families if not re.fullmatch(r".*_total", name)} - shown <= {
        name.removesuffix("_total") for name in shown
    }


def test_alerts_select_only_this_release() -> None:
    rules = object_of(render(CASES["everything"]), "PrometheusRule")["spec"]["groups"][0]["rules"]
    assert all('namespace="data",pod=~"lin-headwater-.*"' in rule["expr"] for rule in rules)


def test_monitors_use_the_metrics_endpoints() -> None:
    for case, kind, field in (
        ("strimzi", "ServiceMonitor", "endpoints"),
        ("everything", "PodMonitor", "podMetricsEndpoints"),
    ):
        (endpoint,) = object_of(render(CASES[case]), kind)["spec"][field]
        assert (endpoint["port"], endpoint["path"]) == ("http", "/metrics")


def test_the_metadata_of_the_chart_is_complete() -> None:
    files = {path.name for path in CHART.iterdir()}
    assert files >= {"Chart.yaml", "values.yaml", "values.schema.json", "templates", "README.md"}
