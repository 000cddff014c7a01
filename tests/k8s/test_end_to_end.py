"""The commands of the chart's containers, run with their environment against real Kafka and real Neo4j."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from headwater_graph.store import schema
from headwater_stack import fetch, spark_java_home

from ..servers import Servers
from ..store.empty import opened
from .charts import CHART, Object, containers, object_of, render
from .test_settings import environment

pytestmark = pytest.mark.end_to_end

IMAGE = CHART.parent / "image"
SCRIPTS = {
    "headwater": [sys.executable, "-m", "headwater_cli"],
    "make-topics": [sys.executable, str(IMAGE / "make_topics.py")],
}


@dataclass
class Pod:
    """A release whose containers are processes of this machine."""

    objects: list[Object]
    own: dict[str, str]
    folder: Path

    def environ(self, container: Object) -> dict[str, str]:
        variables = environment(self.objects, container)
        inherited = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        return inherited | variables | self.own

    def command(self, container: Object) -> list[str]:
        """Return the command that the entry point of the image would run."""
        arguments = [*container.get("command", ()), *container["args"]] if "args" in container else container["command"]
        return [*SCRIPTS.get(arguments[0], [arguments[0]]), *arguments[1:]]

    def run(self, container: Object) -> subprocess.CompletedProcess[str]:
        command, environ = self.command(container), self.environ(container)
        return subprocess.run(
            command, env=environ, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )

    def job(self, ending: str) -> subprocess.CompletedProcess[str]:
        (box,) = object_of(self.objects, "Job", ending)["spec"]["template"]["spec"]["containers"]
        return self.run(box)


def values_for(servers: Servers) -> dict[str, Any]:
    return {
        "kafka": {"bootstrapServers": servers.kafka_bootstrap_servers, "topic": f"k8s-{uuid.uuid4().hex[:8]}"},
        "neo4j": {"uri": servers.neo4j_uri, "user": servers.neo4j_user, "secret": "graph"},
    }


@pytest.fixture
def release(servers: Servers, tmp_path: Path, unused_tcp_port: int) -> Pod:
    values = values_for(servers) | {
        "topics": {"mode": "job", "partitions": 3, "replicas": 1, "config": {"retention.ms": "-1"}},
        "consumer": {"httpHost": "127.0.0.1", "httpPort": unused_tcp_port, "spark": {"cores": 1}},
    }
    own = {
        "HEADWATER_NEO4J_PASSWORD": servers.neo4j_password,
        "HEADWATER_HOME": str(tmp_path / "home"),
        "HEADWATER_SPARK_JARS": ",".join(map(str, fetch(["spark-kafka"]))),
        "JAVA_HOME": str(spark_java_home()),
        "PATH": f"{_commands(tmp_path)}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return Pod(render(values), own, tmp_path)


def _commands(folder: Path) -> Path:
    """``headwater`` on the path, as in the image."""
    found = folder / "bin" / "headwater"
    found.parent.mkdir()
    found.write_text(f'#!/bin/sh\nexec {sys.executable} -m headwater_cli "$@"\n')
    found.chmod(0o755)
    return found.parent


@pytest.fixture
def unused_tcp_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def started(pod: Pod, container: Object) -> Iterator[subprocess.Popen[bytes]]:
    with (pod.folder / "log").open("wb") as log:
        process = subprocess.Popen(pod.command(container), env=pod.environ(container), cwd=pod.folder, stderr=log)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def until_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(f"{address}/readyz", timeout=5):
                return
        except (URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(f"not ready: {log.read_text()}")


def test_a_release_prepares_its_servers_processes_an_event_and_drains(release: Pod) -> None:
    spec = object_of(release.objects, "StatefulSet")["spec"]["template"]["spec"]
    wait, consumer = containers({"spec": spec})

    assert (made := release.job("-topics")).returncode == 0, made.stderr
    assert "was created" in made.stdout
    assert " exists;" in release.job("-topics").stdout
    for _ in range(2):
        assert (schema := release.job("-graph-schema")).returncode == 0, schema.stderr
    assert (waited := release.run(wait)).returncode == 0, waited.stdout + waited.stderr

    with started(release, consumer) as process:
        port = release.environ(consumer)["HEADWATER_HTTP_PORT"]
        until_ready(process, f"http://127.0.0.1:{port}", release.folder / "log")
        (box,) = object_of(release.objects, "Pod")["spec"]["containers"]
        output = release.run(box)
        assert output.returncode == 0, output.stdout + output.stderr + (release.folder / "log").read_text()
        assert '"helm-test"' in output.stdout
        with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert "headwater_joined_total 1.0" in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=spec["terminationGracePeriodSeconds"]) == 0, (release.folder / "log").read_text()
    events = [
        json.loads(line)["event"] for line in (release.folder / "log").read_text().splitlines() if line[:1] == "{"
    ]
    assert events[-1] == "stopped"


def test_a_job_names_the_unavailable_server_and_exits_with_3(tmp_path: Path) -> None:
    values = {"kafka": {"bootstrapServers": "127.0.0.1:1"}, "neo4j": {"uri": "bolt://127.0.0.1:1", "connectTimeout": 1}}
    pod = Pod(render(values), {"HEADWATER_HOME": str(tmp_path), "PATH": os.environ["PATH"]}, tmp_path)
    schema = pod.job("-graph-schema")
    assert (schema.returncode, "Neo4j" in schema.stderr) == (3, True), schema.stderr


def test_an_older_graph_stops_an_upgrade_until_migration_is_enabled(release: Pod, servers: Servers) -> None:
    def version(number: int) -> None:
        statement = "MERGE (s:HeadwaterSchema) SET s.version = $version"
        store.driver.execute_query(statement, version=number, database_="neo4j")

    with opened(servers) as store:
        try:
            version(1)
            stopped = release.job("-graph-schema")
            assert (stopped.returncode, "headwater graph migrate" in stopped.stderr) == (2, True), stopped.stderr
            led = Pod(render(values_for(servers) | {"graphSchema": {"migrate": True}}), release.own, release.folder)
            for steps in ([f"did version {number}" for number in range(2, schema.VERSION + 1)], []):
                done = led.job("-graph-schema")
                assert done.returncode == 0, done.stderr
                assert [line[:13] for line in done.stdout.splitlines() if line.startswith("did")] == steps
        finally:
            version(schema.VERSION)
