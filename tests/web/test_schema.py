"""Every path responds as OpenAPI describes it, whatever a client sends: schemathesis for the whole API."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headwater_consumer.kafka.redrive import Redriven
from headwater_graph.queries.free_cypher.run import FreeCypher
from headwater_graph.queries.reader import Neo4jReader
from headwater_web import MemorySink, WebSettings, create_app

from ..given_answers import GivenAnswers
from .conftest import NOW

with warnings.catch_warnings():
    # Its dependencies warn about one another when they are imported.
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

DESCRIBED = "/api/v1/openapi.json"
ADDRESSES = sorted(
    (method, path)
    for path, methods in create_app(GivenAnswers(), MemorySink(), WebSettings()).openapi()["paths"].items()
    for method in methods
)


NOTHING_SENT = Redriven(frozenset(), frozenset())


@pytest.fixture(scope="module")
def api(reader: Neo4jReader) -> Any:
    cypher = FreeCypher(reader, 5.0, 100, "HEADWATER_WEB_CYPHER_TIMEOUT", strangers=True)
    known = WebSettings(allowed_hosts=("testserver",))
    app = create_app(reader, MemorySink(), known, lambda: NOW, cypher=cypher, redrive=lambda _: NOTHING_SENT)
    return schemathesis.openapi.from_asgi(DESCRIBED, app)


@pytest.mark.parametrize(("method", "path"), ADDRESSES)
def test_a_path_responds_as_described(api: Any, method: str, path: str) -> None:
    @settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
    @given(api[path][method].as_strategy())
    def answers(case: Any) -> None:
        case.call_and_validate(checks=[not_a_server_error, status_code_conformance, content_type_conformance])

    answers()


def test_every_path_is_described() -> None:
    assert len(ADDRESSES) > 25
