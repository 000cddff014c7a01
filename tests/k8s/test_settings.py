"""The settings of the programs and the values of the chart correspond one to one."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from headwater_avro.registry import RegistrySettings
from headwater_cli.main import headwater
from headwater_consumer.config import PREFIX, ConsumerSettings, load
from headwater_graph.settings import GraphSettings
from headwater_web.settings import WebSettings, web_settings

from .charts import CHART, SERVERS, Object, containers, merged, object_of, pods, render
from .values import CASES, SECURE, SHARED

VALUES = (CHART / "values.yaml").read_text()
MODEL = {PREFIX + name.upper() for name in ConsumerSettings.model_fields}
GRAPH = {f"{PREFIX}NEO4J_{name.upper()}" for name in GraphSettings.model_fields}
WEB = {f"{PREFIX}WEB_{name.upper()}" for name in WebSettings.model_fields}


SECRET = {"kafka_sasl_password", "neo4j_password", "schema_registry_password"}


def environment(objects: list[Object], container: Object) -> dict[str, str]:
    """Return the environment of a container; ``secret/key`` for a key of a Secret."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        name = source["configMapRef"]["name"]
        found |= next((item["data"] for item in objects if item["metadata"]["name"] == name and "data" in item), {})
    for entry in container.get("env", ()):
        reference = entry.get("valueFrom", {}).get("secretKeyRef", {})
        found[entry["name"]] = entry.get("value", f"{reference.get('name')}/{reference.get('key')}")
    return found


def consumer(values: dict[str, Any]) -> dict[str, str]:
    objects = render(values)
    return environment(objects, object_of(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0])


def test_values_yaml_has_exactly_the_settings_each_with_a_comment() -> None:
    assert set(re.findall(r"HEADWATER_[A-Z0-9_]*[A-Z0-9]", VALUES)) == MODEL | GRAPH | WEB


def test_each_setting_is_set_once() -> None:
    named = re.findall(r"# (HEADWATER_[A-Z0-9_]*[A-Z0-9])", VALUES)
    assert sorted(named) == sorted(set(named))


def test_every_setting_reaches_the_consumer() -> None:
    given = merged(SERVERS, SECURE, SHARED, {"mode": "kubernetes", "checkpoint": {"url": "s3a://b/c"}})
    assert {name for name in consumer(given) if name.startswith(PREFIX)} == MODEL | GRAPH


def test_the_consumer_understands_every_value() -> None:
    given = merged(
        SERVERS,
        SECURE,
        {
            "kafka": {"bootstrapServers": "a:1,b:2", "topic": "t", "deadLetterTopic": "d"},
            "neo4j": {"user": "u", "database": "db", "connectTimeout": 1.5, "readTimeout": 2, "writeTimeout": 3},
            "checkpoint": {"url": "s3a://b/c"},
            "consumer": {
                "startingOffsets": "latest",
                "maxOffsetsPerTrigger": 1000000,
                "maxBatchBytes": 5000000,
                "maxDecompressedBytes": 64000000,
                "maxDecompressionRatio": 50,
                "triggerMilliseconds": 0,
                "failOnDataLoss": False,
                "topicWasRecreated": True,
                "progressTimeout": 90.5,
                "drainTimeout": 20,
                "logFormat": "text",
                "httpHost": "::",
                "httpPort": 9000,
                "spark": {"cores": 4, "driverMemory": "900m", "jars": "/j", "conf": {"spark.a": "1", "spark.b": True}},
            },
        },
    )
    read = load(environ=consumer(given)).settings
    assert read.model_dump(mode="json", exclude=SECRET) == {
        "kafka_bootstrap_servers": "a:1,b:2",
        "kafka_topic": "t",
        "kafka_dead_letter_topic": "d",
        "kafka_security_protocol": "SASL_SSL",
        "kafka_sasl_mechanism": "SCRAM-SHA-512",
        "kafka_sasl_username": "kafka-login/username",
        "kafka_ssl_ca": "/etc/headwater/kafka-ca/ca.crt",
        "kafka_ssl_keystore": "/run/headwater/keystore.pem",
        "schema_registry_url": "https://registry.example.org:8081",
        "schema_registry_user": "registry-login/username",
        "schema_registry_ca": "/etc/headwater/schema-registry-ca/ca.crt",
        "neo4j_uri": "neo4j+s://graph.example.org:7687",
        "neo4j_user": "u",
        "neo4j_database": "db",
        "neo4j_connect_timeout": 1.5,
        "neo4j_read_timeout": 2.0,
        "neo4j_write_timeout": 3.0,
        "home": "/var/lib/headwater",
        "checkpoint": "s3a://b/c",
        "starting_offsets": "latest",
        "max_offsets_per_trigger": 1000000,
        "max_batch_bytes": 5000000,
        "producer_keys": "/etc/headwater/producer-keys/keys",
        "neo4j_ca": "/etc/headwater/neo4j-ca/ca.crt",
        "max_decompressed_bytes": 64000000,
        "max_decompression_ratio": 50,
        "trigger_milliseconds": 0,
        "fail_on_data_loss": False,
        "topic_was_recreated": True,
        "progress_timeout": 90.5,
        "drain_timeout": 20.0,
        "spark_master": "local[4]",
        "spark_driver_memory": "900m",
        "spark_jars": "/j",
        "spark_conf": {"spark.a": "1", "spark.b": "true"},
        "http_host": "::",
        "http_port": 9000,
        "log_format": "text",
    }
    assert read.neo4j_password.get_secret_value() == "graph/password"
    assert read.registry() == RegistrySettings(
        "https://registry.example.org:8081",
        "registry-login/username",
        "registry-login/password",
        "/etc/headwater/schema-registry-ca/ca.crt",
    )


SAID_BY_THE_CHART = {"home", "http_host", "http_port", "log_format", "spark_master", "spark_jars", "neo4j_password"}


def test_defaults_are_those_of_the_programs() -> None:
    """Except settings that depend on the container."""
    read = load(environ=consumer(SERVERS)).settings
    expected = load(
        environ={f"{PREFIX}KAFKA_BOOTSTRAP_SERVERS": "kafka:9092", f"{PREFIX}NEO4J_URI": "neo4j://neo4j:7687"}
    )
    names = ConsumerSettings.model_fields.keys() - SAID_BY_THE_CHART - {"kafka_dead_letter_topic"}
    assert {name: getattr(read, name) for name in names} == {name: getattr(expected.settings, name) for name in names}
    assert read.dead_letter_topic == expected.settings.dead_letter_topic


def is_command(arguments: list[str]) -> bool:
    """Return whether these arguments name a command, possibly in groups."""
    found: click.Command | None = headwater
    while isinstance(found, click.Group) and arguments:
        found, arguments = found.get_command(click.Context(found), arguments[0]), arguments[1:]
    return isinstance(found, click.Command) and not isinstance(found, click.Group)


@pytest.mark.parametrize("case", CASES)
def test_every_command_exists(case: str) -> None:
    arguments = [box.get("args", []) for _, pod in pods(render(CASES[case])) for box in containers(pod)]
    used = [args[1:] for args in arguments if args[:1] == ["headwater"]]
    assert used
    assert [command for command in used if not is_command(command)] == []
    assert not is_command(["graph"])
    assert not is_command(["graph", "no-such-command"])


def test_the_web_server_understands_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    given = merged(
        CASES["web"],
        {
            "web": {
                "port": 9000,
                "sessionHours": 1.5,
                "streams": 6,
                "maxBody": 1,
                "maxBatch": 2,
                "maxDepth": 3,
                "maxNodes": 4,
                "failuresPerMinute": 3,
                "cypherTimeout": 4.5,
                "cypherRows": 7,
                "cypherBytes": 8,
                "mcpCharacters": 600,
                "receiveTimeout": 8.5,
                "ingestRequests": 9,
                "ingestBytes": 10,
                "ingestInFlight": 5,
                "ingestPatience": 6.5,
            }
        },
    )
    objects = render(given)
    variables = environment(objects, object_of(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0])
    hashed = {"HEADWATER_WEB_TOKENS_FILE", "HEADWATER_WEB_SESSION_KEY"}
    assert {name for name in variables if name in WEB} == WEB - hashed
    for name in WEB - hashed:
        monkeypatch.setenv(name, variables[name])
    assert variables["HEADWATER_WEB_OPERATOR_TOKENS"] == "tokens/operators"
    monkeypatch.setenv("HEADWATER_WEB_TOKENS", '["secret"]')
    monkeypatch.setenv("HEADWATER_WEB_OPERATOR_TOKENS", '["secret-2"]')
    assert web_settings().model_dump(exclude={"tokens", "operator_tokens", "tokens_file", "session_key"}) == {
        "host": "0.0.0.0",
        "port": 9000,
        "allowed_hosts": ("lineage.example.org",),
        "cors_origins": ("https://a.example.org",),
        "operator_users": ("ada",),
        "session_hours": 1.5,
        "trusted_header": "X-Forwarded-User",
        "trusted_proxies": (ip_network("10.0.0.0/8"),),
        "streams": 6,
        "max_body": 1,
        "max_batch": 2,
        "max_depth": 3,
        "max_nodes": 4,
        "cypher_timeout": 4.5,
        "cypher_rows": 7,
        "cypher_bytes": 8,
        "signing_key_file": Path("/etc/headwater/signing-key/key"),
        "failures_per_minute": 3,
        "mcp_characters": 600,
        "receive_timeout": 8.5,
        "ingest_requests": 9,
        "ingest_bytes": 10,
        "ingest_in_flight": 5,
        "ingest_patience": 6.5,
    }


def test_hashed_tokens_come_as_a_file_of_the_secret_and_replace_plain_ones() -> None:
    given = {"web": {"enabled": True, "tokens": {"secret": "s", "fileKey": "hashes", "sessionKey": "sessions"}}}
    objects = render(merged(SERVERS, given))
    pod = object_of(objects, "Deployment")["spec"]["template"]["spec"]
    variables = environment(objects, pod["containers"][0])
    assert variables["HEADWATER_WEB_TOKENS_FILE"] == "/etc/headwater/tokens/tokens"
    assert variables["HEADWATER_WEB_SESSION_KEY"] == "s/sessions"
    assert "HEADWATER_WEB_TOKENS" not in variables
    assert {"name": "tokens", "mountPath": "/etc/headwater/tokens", "readOnly": True} in pod["containers"][0][
        "volumeMounts"
    ]
    volume = next(one["secret"] for one in pod["volumes"] if one["name"] == "tokens")
    assert (volume["secretName"], volume["items"]) == ("s", [{"key": "hashes", "path": "tokens"}])


def test_the_web_servers_defaults_are_those_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = render(merged(SERVERS, {"web": {"enabled": True, "tokens": {"secret": "tokens"}}}))
    variables = environment(objects, object_of(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0])
    # The chart's server listens beyond loopback, where free Cypher is off by default.
    program = WebSettings(cypher_timeout=0)
    for name in variables.keys() & WEB - {"HEADWATER_WEB_HOST", "HEADWATER_WEB_TOKENS"}:
        monkeypatch.setenv(name, variables[name])
    assert WebSettings() == program


@pytest.mark.parametrize("case", ["least", "secure", "gitops", "everything"])
def test_a_job_has_the_same_servers_as_the_consumer(case: str) -> None:
    objects = render(CASES[case])
    prefixes = ("HEADWATER_KAFKA_", "HEADWATER_SCHEMA_REGISTRY_", "HEADWATER_NEO4J_", "HEADWATER_HOME", "SSL_CERT_FILE")
    servers = {name: value for name, value in consumer(CASES[case]).items() if name.startswith(prefixes)}
    assert servers["HEADWATER_NEO4J_PASSWORD"] == "graph/password"
    for job in (item for item in objects if item["kind"] == "Job"):
        assert environment(objects, job["spec"]["template"]["spec"]["containers"][0]) == servers


def test_a_changed_setting_restarts_the_consumer_and_a_new_chart_version_alone_does_not() -> None:
    def pod(values: dict[str, Any]) -> Object:
        found: Object = object_of(render(values), "StatefulSet")["spec"]["template"]
        return found

    before = pod(SERVERS)
    assert pod(merged(SERVERS, {"consumer": {"maxOffsetsPerTrigger": 5}})) != before
    assert pod(merged(SERVERS, {"hooks": {"backoffLimit": 1}, "metrics": {"rules": {"enabled": True}}})) == before
    assert "helm.sh/chart" not in before["metadata"]["labels"]
    assert "app.kubernetes.io/version" not in before["metadata"]["labels"]


def test_values_yaml_matches_its_schema() -> None:
    import json

    schema = json.loads((CHART / "values.schema.json").read_text())

    def known(node: Any, value: Any, path: str) -> list[str]:
        if "$ref" in node:
            node = schema["definitions"][node["$ref"].rpartition("/")[2]]
        properties = node.get("properties")
        if properties is None or not isinstance(value, dict):
            return []
        missing = [f"{path}.{name}" for name in value if name not in properties]
        deeper = [
            known(properties[name], inner, f"{path}.{name}") for name, inner in value.items() if name in properties
        ]
        closed = [] if node.get("additionalProperties") is False else [f"{path} is open"]
        return missing + closed + [fault for faults in deeper for fault in faults]

    assert known(schema, yaml.safe_load(VALUES), "") == []
