"""The rules for ``spark.openlineage.*``, without Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headwater.spark.official.configuration import OfficialConfiguration
from headwater.spark.official.dataset_names import DatasetNames
from headwater.spark.official.transport import KAFKA, transport_of
from headwater.spark.runs.settings import Settings


def configuration(entries: dict[str, str]) -> OfficialConfiguration:
    return OfficialConfiguration.of({f"spark.openlineage.{name}": value for name, value in entries.items()})


def transport(entries: dict[str, str]) -> tuple[Any, tuple[str, ...]]:
    given = configuration({f"transport.{name}": value for name, value in entries.items()})
    made = transport_of(given)
    return made, tuple(name.removeprefix("spark.openlineage.transport.") for name in given.not_obeyed())


def settings(entries: dict[str, str]) -> Settings:
    return Settings.of({f"spark.openlineage.{name}": value for name, value in entries.items()}, {}, "app", "4.2.0")


def test_properties_of_java_s_producer_have_librdkafka_s_names() -> None:
    made, not_obeyed = transport(
        {
            "type": "kafka",
            "topicName": "lineage",
            "properties.bootstrap.servers": "kafka:9092",
            "properties.value.serializer": "org.apache.kafka.common.serialization.StringSerializer",
            "properties.max.request.size": "2000000",
            "properties.linger.ms": "5",
            "properties.security.protocol": "SASL_SSL",
            "properties.sasl.mechanism": "PLAIN",
            "properties.sasl.jaas.config": 'a.b.PlainLoginModule required username="me" password="s\\"x";',
            "properties.ssl.truststore.location": "/etc/trust.jks",
        }
    )
    kafka = {
        "message.max.bytes": "2000000",
        "linger.ms": "5",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 's"x',
    }
    assert made == {"type": KAFKA, "topic": "lineage", "bootstrap_servers": "kafka:9092", "kafka": kafka}
    assert not_obeyed == ("properties.ssl.truststore.location",)


def test_an_address_may_name_the_job_its_parent_and_a_key() -> None:
    url = "http://host:5000/api/v1/namespaces/shop/jobs/dag/runs/r1?app_name=nightly&api_key=k&timeout=3000&team=a"
    made, _ = transport({"type": "http", "url": url})
    assert made == {
        "type": "http",
        "url": "http://host:5000",
        "endpoint": "/api/v1/lineage?team=a",
        "custom_headers": {},
        "timeout": 3.0,
        "auth": {"type": "api_key", "apiKey": "k"},
    }
    found = settings({"transport.type": "http", "transport.url": url})
    assert (found.namespace, found.app_name, found.parent) == ("shop", "nightly", ("r1", "default", "dag"))
    assert found.not_obeyed == ()


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://host", "/api/v1/lineage"),
        ("http://host/api/v1/lineage", "/api/v1/lineage"),
        ("http://host/other/events", "/other/events"),
    ],
)
def test_events_are_posted_to_the_path_of_the_address(url: str, endpoint: str) -> None:
    made, _ = transport({"type": "http", "url": url})
    assert (made["url"], made["endpoint"]) == ("http://host", endpoint)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"type": "kinesis", "streamName": "x"}, "type (kinesis is not supported"),
        ({"url": "http://host"}, "type (is missing)"),
        ({"type": "file"}, "type (file needs"),
        ({"type": "http"}, "type (http needs"),
        ({"type": "composite"}, "type (composite needs"),
        ({"type": "composite", "transports.a.type": "s3"}, "type (s3 is not supported"),
    ],
)
def test_a_transport_that_cannot_be_made_is_reported_once(entries: dict[str, str], reason: str) -> None:
    made, not_obeyed = transport(entries)
    assert made is None
    (found,) = not_obeyed
    assert found.startswith(reason)


def test_the_first_resolver_that_changes_a_namespace_decides() -> None:
    prefix = "dataset.namespaceResolvers."
    given = configuration(
        {
            f"{prefix}prod.type": "hostList",
            f"{prefix}prod.hosts": "[kafka-1.prod;kafka-2.prod]",
            f"{prefix}prod.schema": "kafka",
            f"{prefix}any.type": "patternGroup",
            f"{prefix}any.regex": "(?<cluster>[a-z]+)-\\d+",
            f"{prefix}any.matchingGroup": "cluster",
            f"{prefix}wrong.type": "pattern",
            f"{prefix}wrong.regex": "(",
        }
    )
    names = DatasetNames.of(given)
    resolved = [
        names.name(namespace, "t").namespace
        for namespace in ("kafka://KAFKA-2.prod:9092", "http://kafka-1.prod", "postgres://db-7:5432", "file")
    ]
    assert resolved == ["kafka://prod:9092", "http://kafka.prod", "postgres://db:5432", "file"]
    assert [name.partition(" ")[0] for name in given.not_obeyed()] == [f"spark.openlineage.{prefix}wrong"]


def test_the_parent_and_its_root_may_be_given_as_json() -> None:
    root = {"run": {"runId": "r0"}, "job": {"namespace": "a", "name": "dag"}}
    parent = {"run": {"runId": "r1"}, "job": {"namespace": "a", "name": "dag.task"}, "root": root}
    found = settings({"context": json.dumps({"parent": parent})})
    assert (found.parent, found.root) == (("r1", "a", "dag.task"), ("r0", "a", "dag"))
    assert settings({"context": "{}"}).not_obeyed[0].startswith("spark.openlineage.context (must be JSON")


def test_entries_that_nothing_reads_are_not_obeyed() -> None:
    found = settings(
        {
            "filter.deniedSparkNodes": "[a.B]",
            "filter.allowedSparkNodes": "[a.C]",
            "jobName.appendDatasetName": "maybe",
            "facets.spark_unknown.disabled": "false",
            "vendors.iceberg.metricsReporterDisabled": "true",
            "empty": " ",
        }
    )
    assert found.denied_nodes == {"a.B"}
    assert [entry.removeprefix("spark.openlineage.") for entry in found.not_obeyed] == [
        "facets.spark_unknown.disabled (headwater has no such facet)",
        "jobName.appendDatasetName (must be true or false)",
        "vendors.iceberg.metricsReporterDisabled",
    ]


def test_own_settings_come_from_the_configuration_else_from_the_environment() -> None:
    environ = {
        "HEADWATER_SPARK_JOB_PER": "application",
        "HEADWATER_SPARK_JOB_NAME_REMOVE_PATTERNS": r"[-\d+;(?<x>tmp)]",
    }
    found = Settings.of({}, environ, "app", "4.2.0")
    assert found.is_one_job
    assert [found.job_names.stable(text) for text in ("load-42", "tmp", "a tmp", "load")] == [
        "load",
        "tmp",
        "a",
        "load",
    ]
    conf = {"spark.headwater.jobPer": "run", "spark.headwater.jobs": "x", "spark.headwater.jobName.removePatterns": "["}
    wrong = Settings.of(conf, environ, "app", "4.2.0")
    assert not wrong.is_one_job
    assert [entry.partition(" ")[0] for entry in wrong.not_obeyed] == [
        "spark.headwater.jobName.removePatterns",
        "spark.headwater.jobPer",
        "spark.headwater.jobs",
    ]


def _documented() -> list[tuple[str, bool]]:
    """The settings of the page's table that do not belong to a transport, and whether the page says that they are obeyed."""
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()
    table = page[page.index("### Settings of the official integration") : page.index("## How it works")]
    rows = [line.removeprefix("| ").split(" | ", 1) for line in table.splitlines() if line.startswith("| `")]
    names = [
        (name, not meaning.startswith(("no ", "no:")))
        for cell, meaning in rows
        for name in re.findall(r"`([^`]+)`", cell)
    ]
    return [(name, obeyed) for name, obeyed in names if "[" not in name and not name.startswith(("transport.", "."))]


@pytest.mark.parametrize(("name", "obeyed"), _documented())
def test_the_page_says_which_settings_are_obeyed(name: str, obeyed: bool) -> None:
    given = re.sub(r"<\w+>|\*", "type" if "Resolvers" in name else "x", name)
    reported = [entry.removeprefix("spark.openlineage.") for entry in settings({given: "false"}).not_obeyed]
    # One that is obeyed is reported at most because this value is wrong.
    assert obeyed == (not {given, f"{given} (headwater has no such facet)"} & set(reported))
