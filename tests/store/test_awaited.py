"""A write is sent and not waited for: the next statement is made meanwhile, and what the server refuses is told then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater_avro.errors import StoreRefused
from headwater_graph.model.values import Statement
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.statements import names, prepared

from ..servers import Servers
from .empty import emptied, opened

# A name is a text: the server finds out when it carries the statement out.
REFUSED = Statement("upsert_named_jobs", ({"key": "k2", "namespace": "n", "name": {"no": "text"}},))


@pytest.mark.parametrize("name", names("write"))
def test_every_write_has_a_result_to_wait_for_later(name: str) -> None:
    text, _ = prepared(name, {})
    assert text.count("\nRETURN ") == 1
    assert text.splitlines()[-1].startswith("RETURN ")


@pytest.fixture
def store(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield emptied(store)


@pytest.mark.end_to_end
def test_what_is_refused_is_told_by_the_next_question(store: Neo4jStore) -> None:
    sent: list[int] = []

    def write_and_ask() -> None:
        with store.transaction() as tx:
            sent.append(tx.write([REFUSED]))
            tx.jobs([("n", "other")])

    with pytest.raises(StoreRefused, match="Property values"):
        write_and_ask()
    assert sent == [1]


@pytest.mark.end_to_end
def test_what_is_refused_last_is_told_by_the_commit_and_nothing_of_it_stays(store: Neo4jStore) -> None:
    good = Statement("upsert_named_jobs", ({"key": "k1", "namespace": "n", "name": "good"},))
    with pytest.raises(StoreRefused, match="Property values"), store.transaction() as tx:
        tx.write([good, REFUSED])
    with store.driver.session(database=store.settings.database) as session:
        assert session.run("MATCH (j:Job) RETURN count(j) AS jobs").single(strict=True)["jobs"] == 0
