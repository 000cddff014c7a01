"""Search over HTTP forgives a typing error."""

from __future__ import annotations

import neo4j
from starlette.testclient import TestClient

from ..queries.graph_maker import GraphMaker
from .test_graph_api import get


def test_a_search_forgives_a_typing_error_and_says_so(
    client: TestClient, maker: GraphMaker, driver: neo4j.Driver
) -> None:
    word = maker.namespace.removeprefix("ns-")
    maker.dataset(f"one.{word}")
    maker.dataset(f"two.{word}")
    maker.store(driver)
    assert "similar" not in get(client, "/search", text=word)
    typed = f"{word[:5]}!{word[6:]}"
    found = get(client, "/search", text=typed, limit=1)
    assert found["similar"]
    assert [found["nodes"][0], get(client, "/search", text=typed, cursor=found["next"])["nodes"][0]] == [
        ["dataset", maker.namespace, f"one.{word}"],
        ["dataset", maker.namespace, f"two.{word}"],
    ]
    assert get(client, "/search", text=f"{word}-nothing") == {"nodes": []}
