"""The fixtures of real servers give servers that work."""

from __future__ import annotations

import neo4j
import neo4j.exceptions
import pytest
from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

from headwater_stack import DEAD_LETTER_BYTES
from headwater_stack.kafka_broker import admin

from ..servers import Servers


def test_a_topic_is_new_and_has_a_dead_letter_twin_that_takes_bigger_messages(servers: Servers, topic: str) -> None:
    client = admin(servers.kafka_bootstrap_servers)
    found = client.list_topics(timeout=10).topics
    assert (len(found[topic].partitions), len(found[f"{topic}.dead"].partitions)) == (4, 1)
    dead = ConfigResource(ConfigResource.Type.TOPIC, f"{topic}.dead")
    settings = next(iter(client.describe_configs([dead]).values())).result()
    assert int(settings["max.message.bytes"].value) == DEAD_LETTER_BYTES


def test_neo4j_answers_with_the_password_given(servers: Servers) -> None:
    auth = (servers.neo4j_user, servers.neo4j_password)
    with neo4j.GraphDatabase.driver(servers.neo4j_uri, auth=auth) as driver:
        assert driver.execute_query("RETURN 1 AS one").records[0]["one"] == 1


def test_a_query_that_needs_most_of_the_heap_is_refused(servers: Servers) -> None:
    auth = (servers.neo4j_user, servers.neo4j_password)
    with neo4j.GraphDatabase.driver(servers.neo4j_uri, auth=auth) as driver:
        records, _, _ = driver.execute_query(
            "SHOW SETTINGS YIELD name, value WHERE name = 'db.memory.transaction.max' RETURN value"
        )
        assert records[0]["value"] not in ("0B", "0")
        with pytest.raises(neo4j.exceptions.Neo4jError, match="memory"):
            driver.execute_query(
                "UNWIND range(1, 200000000) AS n WITH collect(toString(n)) AS texts RETURN size(texts)"
            )
