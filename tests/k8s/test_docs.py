"""The examples of docs/deploy.md: values render, commands and their flags exist, settings have the described effect."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from headwater_cli.main import headwater

from .charts import CHART, SERVERS, merged, object_of, render, run_helm

ROOT = CHART.parents[1]
PAGE = (ROOT / "docs" / "deploy.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
VALUES = [text for kind, text in BLOCKS if kind == "yaml" and "execution." not in text]
INI = [dict(line.split("=", 1) for line in text.split("\n") if line) for kind, text in BLOCKS if kind == "ini"]
SETTINGS = [settings for settings in INI if "OPENLINEAGE__TRANSPORT__TYPE" in settings]


def commands() -> list[list[str]]:
    """Return each command of the shell blocks as its arguments."""
    text = "\n".join(text for kind, text in BLOCKS if kind == "sh").replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines() if line]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values_render(number: int) -> None:
    assert object_of(render(merged(SERVERS, yaml.safe_load(VALUES[number]))), "StatefulSet")


def test_the_page_has_blocks_of_each_kind() -> None:
    kinds = [kind for kind, _ in BLOCKS]
    assert {kind: kinds.count(kind) >= 1 for kind in ("sh", "yaml", "properties", "ini")} == dict.fromkeys(
        ("sh", "yaml", "properties", "ini"), True
    )
    assert len(VALUES) >= 2


def test_helm_accepts_the_documented_commands(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(VALUES[0])
    installs = [
        command_line for command_line in commands() if command_line[:2] in (["helm", "install"], ["helm", "upgrade"])
    ]
    assert len(installs) >= 3
    for command_line in installs:
        flags = [word for word in command_line[4:] if word not in ("--wait", "--reuse-values")]
        given = [
            str(tmp_path / word) if word == "values.yaml" else str(ROOT / word) if "/" in word else word
            for word in flags
        ]
        least = (
            ["--set", "kafka.bootstrapServers=k:1", "--set", "neo4j.uri=bolt://n:1"]
            if "--reuse-values" in command_line
            else []
        )
        done = run_helm("template", command_line[2], str(ROOT / command_line[3]), *given, *least)
        assert done.returncode == 0, done.stderr


def test_every_helm_flag_exists() -> None:
    for command_line in (command_line for command_line in commands() if command_line[0] == "helm"):
        known = run_helm(command_line[1], "--help").stdout
        assert [flag for flag in command_line if flag.startswith("--") and flag not in known] == []


def test_every_headwater_command_exists() -> None:
    shell = "\n".join(text for kind, text in BLOCKS if kind == "sh")
    shown = re.findall(r"(?:^|-- |&& )headwater ([a-z ]+)", shell, re.MULTILINE) + re.findall(
        r"`headwater ([a-z ]+)`", PAGE
    )
    shown_commands = [command_line.split() for command_line in shown]
    assert len(shown_commands) >= 5
    for command_line in shown_commands:
        found: click.Command | None = headwater
        for word in command_line:
            if not isinstance(found, click.Group):
                break
            found = found.get_command(click.Context(found), word)
            assert found is not None, command_line


def test_names_in_commands_are_those_of_the_release() -> None:
    trial = yaml.safe_load((ROOT / "k8s" / "examples" / "trial.yaml").read_text())
    objects = render(trial, name="headwater")
    names = {(item["kind"].lower(), item["metadata"]["name"]) for item in objects}
    text = "\n".join(text for kind, text in BLOCKS if kind == "sh")
    assert ("statefulset", "headwater") in names
    assert "statefulset headwater " in text
    assert ("persistentvolumeclaim", re.search(r"delete pvc (\S+)", text)[1]) in names  # type: ignore[index]
    assert ("service", re.search(r"SERVERS=(headwater-[a-z]+):9092", text)[1]) in names  # type: ignore[index]
    assert trial["neo4j"]["secret"] in text


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_openlineage_reads_the_settings_as_a_kafka_transport(number: int) -> None:
    code = (
        "import json\nfrom openlineage.client import OpenLineageClient\n"
        "transport = OpenLineageClient().transport\nconfig = getattr(transport, 'config', None)\n"
        "kafka = getattr(transport, 'kafka_config', config)\n"
        "print(json.dumps([type(transport).__module__, getattr(kafka, 'topic', None),"
        " getattr(kafka, 'bootstrap_servers', None) or kafka.config['bootstrap.servers']]))\n"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environ | SETTINGS[number],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    module, topic, servers = json.loads(done.stdout.splitlines()[-1])
    stock = SETTINGS[number]["OPENLINEAGE__TRANSPORT__TYPE"] == "kafka"
    assert module == "openlineage.client.transport.kafka" if stock else module.startswith("headwater.transport")
    assert (topic, servers) == ("lineage.events", "kafka:9092")


def test_the_settings_of_spark_flink_and_the_notes_agree() -> None:
    """Both use the Java client, whose Kafka transport has exactly these settings."""
    (spark_text,) = (text for kind, text in BLOCKS if kind == "properties")
    spark = dict(line.split("=", 1) for line in spark_text.splitlines())
    (flink,) = (yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml" and "execution." in text)
    prefix = "openlineage.transport."
    of_spark = {
        name.removeprefix("spark."): value for name, value in spark.items() if name.startswith(f"spark.{prefix}")
    }
    assert of_spark == {name: value for name, value in flink.items() if name.startswith(prefix)}
    assert of_spark[f"{prefix}type"] == "kafka"
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    assert [name for name in spark if name != "spark.openlineage.namespace" and f"{name}=" not in notes] == []


def test_the_links_of_the_page_exist() -> None:
    links = re.findall(r"\]\(([a-z.]+\.md)(?:#[^)]*)?\)", PAGE)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
    named = re.findall(r"`(k8s/[\w./-]+)`", PAGE)
    assert [path for path in named if not (ROOT / path).exists()] == []
