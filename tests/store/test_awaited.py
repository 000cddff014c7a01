"""A write is sent without waiting for it: the next statement reports what the server refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater_avro.errors import StoreRefused
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.statements import prepared

from ..servers import Servers
from .empty import emptied, opened
from .statement_files import names

# A name is a text: the server refuses the map when it runs the statement.
REFUSED = {"upsert_named_jobs": [{"key": "k2", "namespace": "n", "name": {"no": "text"}}]}


@pytest.mark.parametrize("name", names("write"))
def test_every_write_returns_a_result(name: str) -> None:
    text, _ = prepared(name, {})
    assert text.count("\nRETURN ") == 1
    assert text.splitlines()[-1].startswith("RETURN ")


@pytest.fixture
def store(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield emptied(store)


@pytest.mark.end_to_end
def test_the_next_read_reports_a_refused_write(store: Neo4jStore) -> None:
    sent: list[int] = []

    def write_and_read() -> None:
        with store.transaction() as tx:
            sent.append(tx.write(REFUSED))
            tx.jobs([("n", "other")])

    with pytest.raises(StoreRefused, match="Property values"):
        write_and_read()
    assert sent == [1]


@pytest.mark.end_to_end
def test_the_commit_reports_a_refused_last_write_and_nothing_is_stored(store: Neo4jStore) -> None:
    good = {"key": "k1", "namespace": "n", "name": "good"}

    def write_both() -> None:
        with store.transaction() as tx:
            tx.write({"upsert_named_jobs": [good]})
            tx.write(REFUSED)

    with pytest.raises(StoreRefused, match="Property values"):
        write_both()
    with store.driver.session(database=store.settings.database) as session:
        assert session.run("MATCH (j:Job) RETURN count(j) AS jobs").single(strict=True)["jobs"] == 0
