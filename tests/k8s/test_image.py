"""The image: built if a Docker engine is available; its Dockerfile is linted and its steps run separately everywhere."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from headwater_consumer.kafka import brokers
from headwater_stack.lock import jars_of

from .charts import CHART, EXAMPLES, SERVERS, object_of, render

ROOT = CHART.parents[1]
IMAGE = CHART.parent / "image"
DOCKERFILE = CHART.parent / "Dockerfile"


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(IMAGE / f"{name}.py"))


def engine() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def test_the_image_builds_and_runs_as_any_user() -> None:
    if not engine():
        pytest.skip("no Docker engine answers: other tests lint the Dockerfile and run its steps")
    build = ["docker", "build", "--quiet", "--file", str(DOCKERFILE), str(ROOT)]
    image = subprocess.run(build, capture_output=True, text=True, timeout=1800, check=True).stdout.strip()
    run = ["docker", "run", "--rm", "--read-only", "--tmpfs", "/tmp", image]
    output = subprocess.run([*run, "headwater", "--version"], capture_output=True, text=True, timeout=120, check=True)
    assert "headwater" in output.stdout
    who = subprocess.run([*run, "sh", "-c", "id -u; ! command -v gcc"], capture_output=True, text=True, check=True)
    assert who.stdout.split() == ["185"]


def test_the_dockerfile_passes_the_linter() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([str(linter), str(DOCKERFILE)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_finds_a_fault_in_a_dockerfile(tmp_path: Path) -> None:
    bad = tmp_path / "Dockerfile"
    bad.write_text(DOCKERFILE.read_text().replace("--no-install-recommends ", ""))
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([str(linter), str(bad)], capture_output=True, text=True, timeout=60, check=False)
    assert "DL3015" in done.stdout


def test_the_image_matches_the_expectations_of_pods() -> None:
    text = DOCKERFILE.read_text()
    security = object_of(render(SERVERS), "StatefulSet")["spec"]["template"]["spec"]["securityContext"]
    assert f"USER {security['runAsUser']}:{security['runAsGroup']}" in text
    assert "HEALTHCHECK" not in text
    assert '"/usr/bin/tini", "--"' in text
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases == ["${PYTHON_IMAGE}${PYTHON_DIGEST}"] * 2
    data = object_of(render(SERVERS), "ConfigMap")["data"]
    assert f"HEADWATER_SPARK_JARS={data['HEADWATER_SPARK_JARS']}" in text


def test_the_build_context_contains_exactly_the_packages() -> None:
    lines = (CHART.parent / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(packages["packages"]) <= allowed
    assert allowed >= {"pyproject.toml", "requirements.lock", "README.md", "k8s/image"}
    assert lines[1] == "*"


def test_the_lock_contains_the_packages_of_the_image() -> None:
    extras = re.findall(r"EXTRAS:-([a-z,]+)", (IMAGE / "install.sh").read_text())[0].split(",")
    locked = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert {"uv", "hatchling"} <= locked
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [text for name in extras for text in declared["optional-dependencies"][name]] + declared["dependencies"]
    names = {re.split(r"[\[<>=!~ ;]", text)[0].lower().replace("_", "-") for text in wanted} - {"headwater"}
    assert names <= locked


def test_the_shell_steps_pass_the_linter() -> None:
    for path in (*IMAGE.glob("*.sh"), CHART / "files" / "roundtrip.sh"):
        subprocess.run(["sh", "-n", str(path)], check=True)


def test_the_jars_are_those_of_the_lock(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(IMAGE / "fetch_jars.py"), str(tmp_path)], check=True, timeout=300)
    expected = {jar.file_name: jar.size for jar in jars_of(("spark-kafka",))}
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == expected


def test_the_bill_of_materials_names_packages_and_jars(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(IMAGE / "sbom.py"), str(tmp_path / "sbom.json")], check=True, timeout=120)
    import json

    sbom = json.loads((tmp_path / "sbom.json").read_text())
    links = [component["purl"] for component in sbom["components"]]
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    assert links == sorted(set(links))
    assert any(link.startswith("pkg:pypi/pyspark@4.2.0") for link in links)
    jar = next(jar for jar in sbom["components"] if jar["name"] == "kafka-clients")
    assert jar["hashes"][0]["content"] in {jar.sha256 for jar in jars_of(("spark-kafka",))}


def test_the_images_commands_are_installed_beside_headwater(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    subprocess.run(["sh", str(IMAGE / "commands.sh"), str(IMAGE), str(tmp_path)], check=True)
    assert {path.name for path in (tmp_path / "bin").iterdir()} == {"entrypoint", "drain", "make-topics", "consume.py"}
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    output = subprocess.run(
        [str(tmp_path / "bin" / "entrypoint"), "echo", "a", "b c"], capture_output=True, text=True, check=True
    )
    assert output.stdout == "a b c\n"
    failed = subprocess.run(
        [str(tmp_path / "bin" / "entrypoint"), "no-such-program"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "cannot run no-such-program" in failed.stderr


EXECUTOR = {
    "SPARK_HOME": "/spark",
    "JAVA_HOME": "/java",
    "SPARK_EXECUTOR_MEMORY": "1024m",
    "SPARK_DRIVER_URL": "spark://driver:7078",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "task-1",
    **{f"SPARK_JAVA_OPT_{number}": f"-D{number}=a b" for number in range(12)},
}


def test_an_executor_starts_with_sparks_arguments() -> None:
    arguments = script("entrypoint")["command"](["executor"], EXECUTOR)
    assert arguments[0] == "/java/bin/java"
    assert arguments[1:13] == [f"-D{number}=a b" for number in range(12)]
    at = arguments.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    flags = dict(zip(arguments[at + 1 :: 2], arguments[at + 2 :: 2], strict=True))
    assert flags["--driver-url"] == "spark://driver:7078"
    assert flags["--podName"] == "task-1"


def test_sparks_executor_accepts_every_flag() -> None:
    """Checks the class itself, in the jars of PySpark."""
    import pyspark

    jar = next(Path(pyspark.__file__).parent.glob("jars/spark-kubernetes_*.jar"))
    arguments = script("entrypoint")["command"](["executor"], EXECUTOR)
    main = next(word for word in arguments if word.startswith("org.apache.spark."))
    with zipfile.ZipFile(jar) as archive:
        code = archive.read(f"{main.replace('.', '/')}$.class")
        constants = archive.read("org/apache/spark/deploy/k8s/Constants$.class")
    assert all(word.encode() in code for word in arguments[arguments.index(main) :] if word.startswith("--"))
    names = [name for name in EXECUTOR if name.startswith("SPARK_") and "OPT" not in name and name != "SPARK_HOME"]
    assert [name for name in names if name.encode() not in constants] == []


def test_a_driver_of_cluster_mode_is_a_client_in_its_own_pod() -> None:
    command = script("entrypoint")["command"]
    environ = {"SPARK_HOME": "/spark", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.2"}
    arguments = command(["driver", "--properties-file", "p", "consume.py"], environ)
    assert arguments[:3] == ["/spark/bin/spark-submit", "--deploy-mode", "client"]
    assert "spark.driver.bindAddress=10.0.0.2" in arguments
    assert arguments[-3:] == ["--properties-file", "p", "consume.py"]


def test_other_commands_run_unchanged_and_the_default_is_the_consumer() -> None:
    command = script("entrypoint")["command"]
    assert command(["headwater", "graph", "init"], {}) == ["headwater", "graph", "init"]
    assert command([], {}) == ["headwater", "consume"]


CONSUMER = """\
import signal, sys, time
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(1))
print("ready", flush=True)
while not stopping:
    time.sleep(0.05)
time.sleep(0.6)
print("batch committed", flush=True)
"""


def test_drain_waits_until_the_consumer_has_finished_its_batch(tmp_path: Path) -> None:
    path = tmp_path / "consume-for-drain.py"
    path.write_text(CONSUMER)
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        done = subprocess.run([sys.executable, str(IMAGE / "drain.py"), path.name], timeout=60, check=False)
        took = time.monotonic() - began
        output, _ = process.communicate(timeout=10)
    assert (done.returncode, process.returncode, output) == (0, 0, "batch committed\n")
    assert took > 0.6


def test_drain_returns_at_once_without_a_consumer() -> None:
    done = subprocess.run([sys.executable, str(IMAGE / "drain.py"), "no-such-consumer.py"], timeout=60, check=False)
    assert done.returncode == 0


def test_signals_of_a_container_reach_the_program() -> None:
    """The program replaces the entry point and has its process id, so SIGTERM reaches it."""
    code = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
    command = [sys.executable, str(IMAGE / "entrypoint.py"), sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM


def test_topics_are_not_created_without_kafka_or_with_wrong_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = script("make_topics")["main"]
    monkeypatch.setattr(brokers, "REQUEST_TIMEOUT", 0.5)
    monkeypatch.setattr(sys, "argv", ["make-topics", "--partitions", "1", "--replicas", "1", "--config", "a=b"])
    monkeypatch.setenv("HEADWATER_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    assert main() == 3
    assert "Kafka" in capsys.readouterr().err
    monkeypatch.setenv("HEADWATER_KAFKA_SECURITY_PROTOCOL", "NONE")
    assert main() == 2
    assert "HEADWATER_KAFKA_SECURITY_PROTOCOL" in capsys.readouterr().err


def test_no_manifest_or_script_names_a_registry_or_downloads_at_the_start() -> None:
    assert shutil.which("sh")
    text = "\n".join(
        path.read_text() for path in (*EXAMPLES.glob("*.yaml"), *CHART.rglob("*.yaml"), *CHART.rglob("*.tpl"))
    )
    assert "spark.jars.packages" not in text
    assert not re.findall(r"\b(?:docker|ghcr|quay|gcr|ecr)\.(?:io|com)\b", text)
