"""Typical values of the chart, by name: together they render every template and every branch."""

from __future__ import annotations

from typing import Any

import yaml

from .charts import EXAMPLES, SERVERS, merged

SHARED: dict[str, Any] = {"checkpoint": {"volume": {"accessModes": ["ReadWriteMany"]}}}
SECURE: dict[str, Any] = {
    "kafka": {
        "securityProtocol": "SASL_SSL",
        "sasl": {"mechanism": "SCRAM-SHA-512", "secret": "kafka-login"},
        "tls": {"ca": {"secret": "kafka-ca"}, "client": {"secret": "kafka-client"}},
    },
    "schemaRegistry": {
        "url": "https://registry.example.org:8081",
        "secret": "registry-login",
        "ca": {"secret": "registry-ca", "key": "root.pem"},
    },
    "neo4j": {"uri": "neo4j+s://graph.example.org:7687", "ca": {"configMap": "neo4j-ca"}},
    "customCA": {"configMap": "authorities"},
    "consumer": {"producerKeys": {"secret": "producers"}},
}
EVERYTHING: dict[str, Any] = {
    "commonLabels": {"team": "data"},
    "image": {"registry": "mirror.example.org", "digest": "sha256:" + "a" * 64, "pullSecrets": ["pull"]},
    "checkpoint": {"volume": {"storageClass": "fast", "annotations": {"backup": "no"}}},
    "consumer": {
        "podAnnotations": {"a": "b"},
        "podLabels": {"c": "d"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "data", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
        "priorityClassName": "high",
        "extraEnv": [{"name": "A", "value": "1"}],
        "extraEnvFrom": [{"configMapRef": {"name": "more"}}],
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "podDisruptionBudget": {"enabled": True},
        "spark": {"conf": {"spark.locality.wait": "0s", "spark.task.cpus": 1}},
    },
    "serviceAccount": {"annotations": {"cloud": "role"}},
    "hooks": {"ttlSecondsAfterFinished": 60, "podAnnotations": {"sidecar": "no"}},
    "topics": {"mode": "job", "config": {"retention.ms": "-1", "min.insync.replicas": 2}},
    "cronJobs": {"check": {"schedule": "0 4 * * 0", "args": ["graph", "check"]}},
    "retention": {"olderThan": "400d"},
    "networkPolicy": {
        "enabled": True,
        "kafkaPeers": [{"namespaceSelector": {}}],
        "metricsPeers": [{"namespaceSelector": {}}],
        "extraEgress": [{"ports": [{"port": 443}]}],
    },
    "metrics": {"podMonitor": {"enabled": True}, "rules": {"enabled": True}, "dashboard": {"enabled": True}},
    "extraObjects": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-own"}, "data": {"a": "b"}}
    ],
}
WEB: dict[str, Any] = {
    "networkPolicy": {"enabled": True},
    "web": {
        "enabled": True,
        "tokens": {"secret": "tokens", "operatorKey": "operators"},
        "operatorUsers": ["ada"],
        "signingKey": {"secret": "gateway"},
        "allowedHosts": ["lineage.example.org"],
        "corsOrigins": ["https://a.example.org"],
        "trustedHeader": "X-Forwarded-User",
        "trustedProxies": ["10.0.0.0/8"],
        "autoscaling": {"enabled": True},
        "ingress": {
            "enabled": True,
            "hosts": ["lineage.example.org", {"host": "events.example.org", "paths": [{"path": "/api/v1/lineage"}]}],
            "tls": [{"secretName": "tls", "hosts": ["lineage.example.org"]}],
        },
        "httpRoute": {"enabled": True, "parentRefs": [{"name": "gateway"}], "hostnames": ["lineage.example.org"]},
    },
}
STRIMZI: dict[str, Any] = {
    "topics": {
        "mode": "strimzi",
        "config": {"retention.ms": -1},
        "strimzi": {"cluster": "main", "namespace": "kafka", "user": {"enabled": True, "authentication": "tls"}},
    }
}
TRIAL: dict[str, Any] = {
    "trial": {"kafka": {"enabled": True}, "neo4j": {"enabled": True}},
    "neo4j": {"secret": "graph"},
}

CASES: dict[str, dict[str, Any]] = {
    "least": SERVERS,
    "secure": merged(SERVERS, SECURE),
    "everything": merged(SERVERS, EVERYTHING),
    "everything-kubernetes": merged(SERVERS, SECURE, EVERYTHING, SHARED, {"mode": "kubernetes"}),
    "everything-operator": merged(SERVERS, SECURE, EVERYTHING, SHARED, {"mode": "sparkOperator"}),
    "object-store": merged(SERVERS, {"mode": "kubernetes", "checkpoint": {"url": "s3a://lineage/checkpoint"}}),
    "gitops": merged(SERVERS, {"hooks": {"enabled": False}, "topics": {"mode": "job"}}),
    "web": merged(SERVERS, WEB),
    "strimzi": merged(SERVERS, STRIMZI, {"metrics": {"serviceMonitor": {"enabled": True}}}),
    "trial": TRIAL,
    "no-volume": merged(SERVERS, {"checkpoint": {"volume": {"enabled": False}}, "serviceAccount": {"create": False}}),
}
CASES |= {f"example-{path.stem}": yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES.glob("*.yaml"))}
