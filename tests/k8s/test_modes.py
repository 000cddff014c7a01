"""What each way to run Spark, and each part beside it, comes down to."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from headwater_consumer.config import load
from headwater_consumer.metrics import Metrics
from headwater_consumer.session import spark_conf

from .charts import CHART, SERVERS, Object, merged, one, render
from .test_settings import consumer, environment
from .values import CASES, SHARED, TRIAL

KUBERNETES = merged(SERVERS, SHARED, {"mode": "kubernetes"})
OPERATOR = merged(SERVERS, SHARED, {"mode": "sparkOperator"})


def driver(values: dict[str, Any]) -> Object:
    found: Object = one(render(values), "StatefulSet")["spec"]["template"]["spec"]
    return found


def test_the_consumer_has_the_time_that_its_longest_batch_takes() -> None:
    assert driver(SERVERS)["terminationGracePeriodSeconds"] == 150
    assert driver(merged(SERVERS, {"neo4j": {"writeTimeout": 20.5}}))["terminationGracePeriodSeconds"] == 51
    given = merged(SERVERS, {"consumer": {"terminationGracePeriodSeconds": 60}})
    assert driver(given)["terminationGracePeriodSeconds"] == 60


def test_a_server_that_is_away_is_no_reason_to_start_the_process_again() -> None:
    (box,) = driver(SERVERS)["containers"]
    assert box["livenessProbe"]["httpGet"]["path"] == box["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert box["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {port["name"]: port["containerPort"] for port in box["ports"]}["http"] == 8080


def test_the_driver_tells_executors_a_name_that_its_service_gives() -> None:
    objects = render(KUBERNETES)
    conf = load(environ=consumer(KUBERNETES)).settings.spark_conf
    stateful, service = one(objects, "StatefulSet"), one(objects, "Service")
    assert conf["spark.driver.host"] == f"lin-headwater-0.{service['metadata']['name']}.data.svc"
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    assert conf["spark.kubernetes.driver.pod.name"] == f"{stateful['metadata']['name']}-0"
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    ports = {port["name"]: str(port["port"]) for port in service["spec"]["ports"]}
    assert ports["driver"] == conf["spark.driver.port"]
    assert ports["blocks"] == conf["spark.driver.blockManager.port"]


def test_the_programs_own_spark_settings_leave_those_of_the_chart_alone() -> None:
    from pathlib import Path

    settings = load(environ=consumer(KUBERNETES)).settings
    whole = spark_conf(settings, [], Path("/log4j2.properties"))
    assert settings.spark_conf.items() <= whole.items()
    assert whole["spark.driver.host"].startswith("lin-headwater-0.")


def test_executors_are_made_from_the_template_that_the_driver_has() -> None:
    conf = load(environ=consumer(KUBERNETES)).settings.spark_conf
    mounts = {mount["mountPath"]: mount["name"] for mount in driver(KUBERNETES)["containers"][0]["volumeMounts"]}
    folder, _, file = conf["spark.kubernetes.executor.podTemplateFile"].rpartition("/")
    volume = next(one for one in driver(KUBERNETES)["volumes"] if one["name"] == mounts[folder])
    template = one(render(KUBERNETES), "ConfigMap", volume["configMap"]["name"])
    assert file in template["data"]


def test_the_driver_may_do_to_pods_what_spark_does_and_nothing_elsewhere() -> None:
    objects = render(KUBERNETES)
    (rule,) = one(objects, "Role")["rules"]
    assert "deletecollection" in rule["verbs"]
    (subject,) = one(objects, "RoleBinding")["subjects"]
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
"""Of sparkoperator.k8s.io/v1beta2, the fields that the chart writes."""


@pytest.mark.parametrize("values", [OPERATOR, CASES["everything-operator"]])
def test_the_application_is_one_that_the_operator_takes(values: dict[str, Any]) -> None:
    spec = one(render(values), "SparkApplication")["spec"]
    assert [error.message for error in Draft202012Validator(SPARK_APPLICATION).iter_errors(spec)] == []
    assert not [item for item in render(values) if item["kind"] == "StatefulSet"]


def test_the_operators_driver_drains_before_its_jvm_is_signalled() -> None:
    application = one(render(OPERATOR), "SparkApplication")["spec"]
    template = application["driver"]["template"]["spec"]
    (box,) = template["containers"]
    assert box["name"] == "spark-kubernetes-driver"
    assert box["lifecycle"]["preStop"]["exec"]["command"] == ["drain"]
    assert template["terminationGracePeriodSeconds"] == 150
    assert application["mainApplicationFile"].endswith("/consume.py")
    assert environment(render(OPERATOR), box)["HEADWATER_SPARK_MASTER"].startswith("k8s://")


def test_what_the_operator_needs_more_can_be_said() -> None:
    given = merged(OPERATOR, {"sparkOperator": {"spec": {"timeToLiveSeconds": 5, "driver": {"cores": 3}}}})
    spec = one(render(given), "SparkApplication")["spec"]
    assert (spec["timeToLiveSeconds"], spec["driver"]["cores"], spec["driver"]["memory"]) == (5, 3, "1g")


def test_hooks_can_be_turned_off_and_the_jobs_stay() -> None:
    jobs = [item for item in render(CASES["gitops"]) if item["kind"] == "Job"]
    assert len(jobs) == 2
    assert not any("annotations" in job["metadata"] for job in jobs)
    assert all(
        re.fullmatch(r"lin-headwater-(topics|graph-schema)-[0-9a-f]{8}", job["metadata"]["name"]) for job in jobs
    )


def test_hooks_come_before_the_consumer_unless_their_servers_come_with_it() -> None:
    def moments(values: dict[str, Any]) -> str:
        told: str = one(render(values), "Job")["metadata"]["annotations"]["helm.sh/hook"]
        return told

    assert moments(SERVERS) == "pre-install,pre-upgrade"
    assert moments(TRIAL) == "post-install,post-upgrade"


@pytest.mark.parametrize("case", ["least", "secure", "gitops", "everything-kubernetes"])
def test_a_hook_needs_nothing_of_the_release(case: str) -> None:
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


def test_strimzi_is_spoken_to_in_its_v1() -> None:
    objects = render(CASES["strimzi"])
    strimzi = [item for item in objects if item["kind"].startswith("Kafka")]
    assert {item["apiVersion"] for item in strimzi} == {"kafka.strimzi.io/v1"}
    assert {item["metadata"]["namespace"] for item in strimzi} == {"kafka"}
    topics = {item["spec"]["topicName"]: item["spec"] for item in strimzi if item["kind"] == "KafkaTopic"}
    assert topics["lineage.events"]["config"] == {"retention.ms": -1}
    assert topics["lineage.events.dead"]["config"]["retention.ms"] == -1
    rights = one(objects, "KafkaUser")["spec"]["authorization"]["acls"]
    assert {rule["resource"].get("name") for rule in rights} == {*topics, "headwater-consumer", None}


def test_the_trial_servers_are_the_ones_that_are_used() -> None:
    objects = render(TRIAL)
    told = environment(
        objects, one(objects, "StatefulSet", "lin-headwater")["spec"]["template"]["spec"]["containers"][0]
    )
    services = {
        item["metadata"]["name"]: item["spec"]["ports"][0]["port"] for item in objects if item["kind"] == "Service"
    }
    kafka, _, port = told["HEADWATER_KAFKA_BOOTSTRAP_SERVERS"].partition(":")
    assert services[kafka] == int(port)
    neo4j, _, bolt = told["HEADWATER_NEO4J_URI"].removeprefix("bolt://").partition(":")
    assert services[neo4j] == int(bolt)
    assert "bitnami" not in json.dumps(objects)


def test_nothing_that_is_only_for_some_is_there_by_default() -> None:
    kinds = sorted(item["kind"] for item in render(SERVERS))
    assert kinds == sorted(
        ["ConfigMap", "Job", "PersistentVolumeClaim", "Pod", "Service", "ServiceAccount", "StatefulSet"]
    )


def test_the_web_pods_are_spread_and_scaled() -> None:
    objects = render(CASES["web"])
    (box,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert box["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert box["readinessProbe"]["httpGet"]["path"] == "/readyz?for=any"
    deployment = one(objects, "Deployment")
    assert "replicas" not in deployment["spec"]
    assert one(objects, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread[0]["labelSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
    for kind in ("Ingress", "HTTPRoute"):
        assert "lin-headwater-web" in json.dumps(one(objects, kind)["spec"])


NAMES = re.compile(r"headwater_[a-z_]+")


def metrics() -> set[str]:
    own = Metrics()
    own.lag.labels("t/0")
    own.seconds.labels("total")
    return set(NAMES.findall(own.text().decode()))


def test_alerts_and_panels_ask_for_metrics_that_there_are() -> None:
    objects = render(CASES["everything"])
    rules = [rule["expr"] for rule in one(objects, "PrometheusRule")["spec"]["groups"][0]["rules"]]
    dashboard = json.loads(one(objects, "ConfigMap", "-dashboard")["data"]["headwater.json"])
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked = {name for text in (*rules, *panels) for name in NAMES.findall(text)}
    assert asked <= metrics()
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in metrics()}
    shown = {re.sub(r"_bucket$", "", name) for text in panels for name in NAMES.findall(text)}
    assert {name for name in families if not re.fullmatch(r".*_total", name)} - shown <= {
        name.removesuffix("_total") for name in shown
    }


def test_alerts_are_of_this_release_alone() -> None:
    rules = one(render(CASES["everything"]), "PrometheusRule")["spec"]["groups"][0]["rules"]
    assert all('namespace="data",pod=~"lin-headwater-.*"' in rule["expr"] for rule in rules)


def test_monitors_ask_where_metrics_are() -> None:
    for case, kind, field in (
        ("strimzi", "ServiceMonitor", "endpoints"),
        ("everything", "PodMonitor", "podMetricsEndpoints"),
    ):
        (endpoint,) = one(render(CASES[case]), kind)["spec"][field]
        assert (endpoint["port"], endpoint["path"]) == ("http", "/metrics")


def test_the_chart_says_what_it_holds() -> None:
    files = {path.name for path in CHART.iterdir()}
    assert files >= {"Chart.yaml", "values.yaml", "values.schema.json", "templates", "README.md"}
