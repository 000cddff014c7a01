"""Rewrite ``jars.lock``: ``python -m headwater_stack.resolve`` (needs the package jgo, pyspark and a network).

Every root is resolved ``raw`` (the ``!``): a root that is read as a bill of materials would force the versions of
*its* parent on all others.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from .fetch import repository
from .lock import Jar, Lock, format_lock

HEAD = "Written by `python -m headwater_stack.resolve`; do not edit."

CLOSED: dict[str, tuple[str, ...]] = {
    # Kafka logs through SLF4J 1.7, hence log4j-slf4j-impl and not log4j-slf4j2-impl.
    "kafka": ("org.apache.kafka:kafka_2.13:4.3.1!", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4!"),
    "neo4j": ("org.neo4j:neo4j:2026.08.1!",),
}
"""Groups that are locked with all their dependencies."""

ON_SPARK: dict[str, tuple[str, ...]] = {
    "openlineage-spark": ("io.openlineage:openlineage-spark_2.13:1.53.0!",),
    "delta": ("io.delta:delta-spark_4.2_2.13:4.4.0!",),
    "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0!",),
    "spark-avro": ("org.apache.spark:spark-avro_2.13:4.1.1!",),
}
"""Groups that are locked with those dependencies that pyspark's wheel does not contain."""

EXACT: dict[str, tuple[str, ...]] = {
    "spark-kafka": (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0!",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0!",
        "org.apache.kafka:kafka-clients:3.9.2!",
        "org.apache.commons:commons-pool2:2.13.1!",
    ),
}
"""Groups that are locked as listed, without dependencies."""


def resolve(cache: Path) -> Lock:
    """Return the lock of all groups; downloads the jars to ``cache`` to hash them."""
    context = _maven(cache)
    lock: Lock = {}
    for group, roots in CLOSED.items():
        lock[group] = _hashed(_closure(context, roots))
    for group, roots in EXACT.items():
        lock[group] = _hashed([context.create_dependency(root) for root in roots])
    provided = _spark_artifacts()
    for group, roots in ON_SPARK.items():
        lock[group] = _hashed([found for found in _closure(context, roots) if found.artifactId not in provided])
    return lock


def jars_of(root: str, cache: Path) -> list[Path]:
    """Return the jars of a root, such as ``org.neo4j:neo4j:5.26.25!``, and of its dependencies; downloads missing ones.

    This is for tests of other versions: no lock is checked.
    """
    return [Path(found.artifact.resolve()) for found in _closure(_maven(cache), (root,))]


def _maven(cache: Path) -> Any:
    from jgo.maven import MavenContext  # a development tool, not installed with headwater

    return MavenContext(repo_cache=cache, remote_repos={"repository": repository()})


def _closure(context: Any, roots: tuple[str, ...]) -> list[Any]:
    dependencies = [context.create_dependency(root) for root in roots]
    _, transitive = context.resolver.resolve(dependencies)
    return [*dependencies, *(found for found in transitive if found.scope in ("compile", "runtime"))]


def _hashed(dependencies: list[Any]) -> tuple[Jar, ...]:
    jars = []
    for dependency in dependencies:
        print(dependency, file=sys.stderr)
        content = Path(dependency.artifact.resolve()).read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        classifier = dependency.classifier or ""
        names = (dependency.groupId, dependency.artifactId, dependency.version, classifier)
        jars.append(Jar(*names, size=len(content), sha256=sha256))
    return tuple(jars)


def _spark_artifacts() -> frozenset[str]:
    import pyspark

    jars = (Path(pyspark.__file__).parent / "jars").glob("*.jar")
    return frozenset(re.sub(r"-\d.*", "", jar.name) for jar in jars)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        Path(__file__).with_name("jars.lock").write_text(format_lock(resolve(Path(cache)), HEAD), encoding="utf-8")
