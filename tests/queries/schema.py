"""The graph's constraints and indexes, made in the test's database."""

from __future__ import annotations

from importlib.resources import files

import neo4j


def apply_schema(driver: neo4j.Driver) -> None:
    text = (files("headwater_graph") / "cypher" / "schema.cypher").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    with driver.session() as session:
        for statement in filter(None, map(str.strip, code.split(";"))):
            session.run(neo4j.Query(statement)).consume()
        session.run("CALL db.awaitIndexes(60)").consume()
