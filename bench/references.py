"""References for ingest: a raw Spark read of the topic, and a plain write of the same rows to Neo4j."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import neo4j

from headwater_consumer.config import load
from headwater_consumer.session import spark_session
from headwater_stack import Addresses, fetch, spark_java_home

KEYS = {"Job": "key", "Dataset": "key", "Field": "key", "Run": "key", "JobVersion": "id", "DatasetVersion": "id"}
"""Label -> the property with the unique constraint."""

ROWS_PER_STATEMENT = 5_000


def raw_read(bootstrap_servers: str, topic: str) -> float:
    """Return the seconds in which a warm Spark reads a whole topic and discards it."""
    settings = load(needs=frozenset()).settings
    options = {"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic, "startingOffsets": "earliest"}
    with spark_session(settings, fetch(["spark-kafka"]), spark_java_home()) as spark:
        for _ in range(2):
            began = time.perf_counter()
            spark.read.format("kafka").options(**options).load().select("value").write.format("noop").mode(
                "overwrite"
            ).save()
            seconds = time.perf_counter() - began
    return seconds


@dataclass
class Rows:
    """A graph as rows: of nodes by label, of relationships by type and the labels of both ends."""

    nodes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, int]:
        return (sum(map(len, self.nodes.values())), sum(map(len, self.edges.values())))


def driver_of(addresses: Addresses) -> neo4j.Driver:
    auth = (addresses.neo4j_user, addresses.neo4j_password)
    return neo4j.GraphDatabase.driver(addresses.neo4j_uri, auth=auth, notifications_min_severity="OFF")


def read_rows(addresses: Addresses) -> Rows:
    """Read the whole graph into memory."""
    rows = Rows()
    with driver_of(addresses) as driver, driver.session(fetch_size=10_000) as session:
        for label in KEYS:
            found = session.run(f"MATCH (n:{label}) RETURN properties(n) AS row")
            rows.nodes[label] = [record["row"] for record in found]
        query = """
            MATCH (a)-[e]->(b) WHERE labels(a)[0] IN $labels AND labels(b)[0] IN $labels
            RETURN type(e) AS type, labels(a)[0] AS a, labels(b)[0] AS b,
                   CASE WHEN labels(a)[0] IN $byId THEN a.id ELSE a.key END AS source,
                   CASE WHEN labels(b)[0] IN $byId THEN b.id ELSE b.key END AS target, properties(e) AS properties
        """
        by_id = [label for label, key in KEYS.items() if key == "id"]
        for record in session.run(query, labels=list(KEYS), byId=by_id):
            row = {"source": record["source"], "target": record["target"], "properties": record["properties"]}
            rows.edges.setdefault((record["type"], record["a"], record["b"]), []).append(row)
    return rows


def write_rows(addresses: Addresses, rows: Rows) -> float:
    """Write rows to an empty graph with its schema, without reads and rules; return the seconds."""
    began = time.perf_counter()
    with driver_of(addresses) as driver, driver.session() as session:
        for label, nodes in rows.nodes.items():
            for part in _parts(nodes):
                session.run(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", rows=part).consume()
        for (kind, a, b), edges in rows.edges.items():
            query = (
                f"UNWIND $rows AS row MATCH (a:{a} {{{KEYS[a]}: row.source}}) MATCH (b:{b} {{{KEYS[b]}: row.target}}) "
                f"CREATE (a)-[e:{kind}]->(b) SET e = row.properties"
            )
            for part in _parts(edges):
                session.run(query, rows=part).consume()
    return time.perf_counter() - began


def _parts(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for at in range(0, len(rows), ROWS_PER_STATEMENT):
        yield rows[at : at + ROWS_PER_STATEMENT]
