"""Invalid values are refused before rendering, with a sentence that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from .charts import CHART, SERVERS, merged, refusal, run_helm
from .values import SHARED, TRIAL

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"neo4j": {"url": "bolt://x:1"}}, "url"),
    "unknown mode": ({"mode": "yarn"}, "/mode"),
    "Kafka without a port": ({"kafka": {"bootstrapServers": "kafka"}}, "/kafka/bootstrapServers"),
    "Neo4j over HTTP": ({"neo4j": {"uri": "http://neo4j:7474"}}, "/neo4j/uri"),
    "password in the values": ({"neo4j": {"password": "secret"}}, "password"),
    "password in the environment": (
        {"consumer": {"extraEnv": [{"name": "HEADWATER_NEO4J_PASSWORD", "value": "x"}]}},
        "/consumer/extraEnv/0",
    ),
    "no Kafka": ({"kafka": {"bootstrapServers": ""}}, "kafka.bootstrapServers is not set"),
    "no Neo4j": ({"neo4j": {"uri": ""}}, "neo4j.uri is not set"),
    "SASL without a Secret": ({"kafka": {"securityProtocol": "SASL_SSL"}}, "needs kafka.sasl.secret"),
    "a Secret without SASL": ({"kafka": {"sasl": {"secret": "s"}}}, "kafka.sasl.secret is not used"),
    "TLS without SSL": ({"kafka": {"tls": {"ca": {"secret": "s"}}}}, "kafka.tls is not used"),
    "two authorities of Neo4j": (
        {"neo4j": {"uri": "bolt+s://n:1", "ca": {"secret": "a", "configMap": "b"}}},
        "neo4j.ca takes",
    ),
    "an authority of Neo4j without TLS": ({"neo4j": {"uri": "bolt://n:1", "ca": {"secret": "a"}}}, "write bolt+s"),
    "two authorities": ({"customCA": {"secret": "a", "configMap": "b"}}, "customCA takes"),
    "two Kafka authorities": (
        {"kafka": {"securityProtocol": "SSL", "tls": {"ca": {"secret": "a", "configMap": "b"}}}},
        "kafka.tls.ca takes",
    ),
    "a registry without a scheme": ({"schemaRegistry": {"url": "registry:8081"}}, "/schemaRegistry/url"),
    "an account in the registry's address": ({"schemaRegistry": {"url": "https://a:b@r:1"}}, "/schemaRegistry/url"),
    "an account of no registry": ({"schemaRegistry": {"secret": "s"}}, "not used without schemaRegistry.url"),
    "two registry authorities": (
        {"schemaRegistry": {"url": "https://r", "ca": {"secret": "a", "configMap": "b"}}},
        "schemaRegistry.ca takes",
    ),
    "executors and a volume of one node": ({"mode": "kubernetes"}, "a checkpoint that any node can reach"),
    "the operator and a volume of one node": ({"mode": "sparkOperator"}, "a checkpoint that any node can reach"),
    "executors and no checkpoint": (
        {"mode": "kubernetes", "checkpoint": {"volume": {"enabled": False}}},
        "needs checkpoint.url or checkpoint.volume",
    ),
    "the operator is not there": (merged(SHARED, {"mode": "sparkOperator"}), "needs the Spark operator"),
    "no Strimzi cluster": ({"topics": {"mode": "strimzi"}}, "needs topics.strimzi.cluster"),
    "a Strimzi user alone": ({"topics": {"strimzi": {"user": {"enabled": True}}}}, "needs topics.mode strimzi"),
    "two monitors": (
        {"metrics": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}},
        "count everything twice",
    ),
    "a monitor of no Service": (
        merged(SHARED, {"mode": "sparkOperator", "metrics": {"serviceMonitor": {"enabled": True}}}),
        "use metrics.podMonitor",
    ),
    "a comma in a setting of Spark": ({"consumer": {"spark": {"conf": {"a": "1,2"}}}}, "can't have a comma"),
    "a heap that fills the container": (
        {"consumer": {"spark": {"driverMemory": "2g"}, "resources": {"limits": {"memory": "2Gi"}}}},
        "leaves no room for Python",
    ),
    "no memory limit": ({"consumer": {"resources": {"limits": {"memory": None}}}}, "memory"),
    "a web server that lets everybody in": ({"web": {"enabled": True}}, "needs web.tokens.secret"),
    "a user's name from any client": (
        {"web": {"enabled": True, "tokens": {"secret": "t"}, "trustedHeader": "X-User"}},
        "needs web.trustedProxies",
    ),
    "operators whom nobody names": (
        {"web": {"enabled": True, "tokens": {"secret": "t"}, "operatorUsers": ["ada"]}},
        "needs web.trustedHeader",
    ),
    "an ingress to nowhere": ({"web": {"ingress": {"enabled": True}}}, "web.ingress needs hosts"),
    "a path that is none": (
        {"web": {"ingress": {"hosts": [{"host": "a.example.org", "paths": [{"path": "api"}]}]}}},
        "/web/ingress/hosts",
    ),
    "a kind of path that Kubernetes lacks": (
        {"web": {"ingress": {"hosts": [{"host": "a.example.org", "paths": [{"path": "/", "pathType": "prefix"}]}]}}},
        "/web/ingress/hosts",
    ),
    "TLS with a key that Kubernetes lacks": ({"web": {"ingress": {"tls": [{"secret": "tls"}]}}}, "/web/ingress/tls"),
    "two Kafkas": ({"trial": {"kafka": {"enabled": True}}}, "exclude one another"),
    "two Neo4js": ({"trial": {"neo4j": {"enabled": True}}}, "exclude one another"),
    "a horizon that is no age": ({"retention": {"olderThan": "a year"}}, "/retention/olderThan"),
    "two CronJobs of a name": (
        {
            "retention": {"olderThan": "90d"},
            "cronJobs": {"retention": {"schedule": "0 4 * * 0", "args": ["graph", "check"]}},
        },
        "give cronJobs.retention another",
    ),
    "a grace period too short to drain": ({"consumer": {"terminationGracePeriodSeconds": 5}}, "/consumer/termination"),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_that_cannot_work_are_refused(name: str) -> None:
    values, expected = WRONG[name]
    assert expected in refusal(merged(SERVERS, values))


@pytest.mark.parametrize("name", ["unknown key", "no Kafka", "password in the environment"])
def test_helm_3_refuses_them_too(name: str) -> None:
    values, expected = WRONG[name]
    assert expected.strip("/").split("/")[-1].removesuffix("/0") in refusal(merged(SERVERS, values), major=3)


def test_a_trial_graph_needs_a_password() -> None:
    assert "trial.neo4j needs neo4j.secret" in refusal(merged(TRIAL, {"neo4j": {"secret": ""}}))


def test_a_trial_broker_has_no_tls() -> None:
    values = merged(TRIAL, {"kafka": {"securityProtocol": "SSL"}})
    assert "speaks PLAINTEXT alone" in refusal(values)


def test_all_faults_are_reported_at_once() -> None:
    done = run_helm("template", "lin", str(CHART))
    assert "kafka.bootstrapServers is not set" in done.stderr
    assert "neo4j.uri is not set" in done.stderr
