"""One Spark session for all tests that need one: starting it takes longer than most of them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater_consumer.config import load
from headwater_consumer.session import spark_session
from headwater_stack import fetch, spark_java_home

from ..servers import Servers
from .kafka_room import Room

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = ["spark-kafka"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = load(needs=frozenset(), flags={"spark_master": "local[2]"}).settings
    before = dict(os.environ)
    with spark_session(settings, fetch(JARS), spark_java_home()) as session:
        yield session
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def room(servers: Servers, topic: str, spark: SparkSession, tmp_path: Path) -> Room:
    return Room(servers.kafka_bootstrap_servers, topic, tmp_path, spark)


@pytest.fixture
def unused_port() -> Callable[[], int]:
    def find() -> int:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            return int(taken.getsockname()[1])

    return find
