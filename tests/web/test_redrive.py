"""Dead letters sent back over HTTP: by operators alone, and not by pages of other sites."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_consumer.kafka.redrive import Redriven
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.dead_letters_api import PATH, Choice
from headwater_web.settings import web_settings

from ..given_answers import GivenAnswers

ORIGIN = "https://lineage.example"
SESSION = "/api/v1/session"
ALL = {"all": True}
OPERATOR, READER = {"Authorization": "Bearer operator"}, {"Authorization": "Bearer reader"}
HOME, AWAY = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site"}


@dataclass
class Letters:
    """A dead-letter topic: what was chosen to be sent back, and what is done with it."""

    done: Redriven = field(default_factory=lambda: Redriven(frozenset({("t", 0, 1)}), frozenset({("t", 0, 2)})))
    chosen: list[Choice] = field(default_factory=list)

    def redrive(self, choice: Choice) -> Redriven:
        self.chosen.append(choice)
        return self.done


@contextmanager
def client_of(letters: Letters, origin: str = ORIGIN, **given: Any) -> Iterator[TestClient]:
    tokens = {"tokens": (SecretStr("reader"),), "operator_tokens": (SecretStr("operator"),)}
    app = create_app(GivenAnswers(), MemorySink(), WebSettings(**(tokens | given)), redrive=letters.redrive)
    with TestClient(app, base_url=origin, client=("127.0.0.1", 1)) as client:
        yield client


def test_an_operator_sends_letters_back_and_sees_what_became_of_them() -> None:
    letters = Letters()
    with client_of(letters) as client:
        answer = client.post(PATH, json={"letters": ["t/0/1", "t/0/2", "t/0/3"]}, headers=OPERATOR)
        assert answer.status_code == 200
        assert answer.json() == {"redriven": 1, "deleted": ["t/0/2"], "missing": ["t/0/3"]}
        assert client.post(PATH, json={"code": "not_decodable"}, headers=OPERATOR).json()["missing"] == []
    assert [choice.code for choice in letters.chosen] == [None, "not_decodable"]
    assert letters.chosen[0].identities() == {("t", 0, 1), ("t", 0, 2), ("t", 0, 3)}


def test_a_token_without_the_permission_is_refused_and_nothing_is_sent() -> None:
    letters = Letters()
    with client_of(letters) as client:
        refused = client.post(PATH, json=ALL, headers=READER)
        assert (refused.status_code, refused.json()["title"]) == (403, "Forbidden")
        assert "HEADWATER_WEB_OPERATOR_TOKENS" in refused.json()["detail"]
        assert client.post(PATH, json=ALL).status_code == 401
        assert client.get(SESSION, headers=READER).json()["operator"] is False
        assert client.get(SESSION, headers=OPERATOR).json()["operator"] is True
    assert letters.chosen == []


@pytest.mark.parametrize(("token", "status"), [("operator", 200), ("reader", 403)])
def test_a_session_may_do_what_its_token_may(token: str, status: int) -> None:
    with client_of(Letters()) as client:
        started = client.post(SESSION, json={"token": token})
        assert started.json()["operator"] is (status == 200)
        assert client.get(SESSION).json() == started.json()
        assert client.post(PATH, json=ALL, headers=HOME).status_code == status


def test_a_page_of_another_site_cannot_use_the_session_of_an_operator() -> None:
    letters = Letters()
    with client_of(letters) as client:
        client.post(SESSION, json={"token": "operator"})
        for headers in (AWAY, {"Origin": "https://evil.example"}, {}):
            assert client.post(PATH, json=ALL, headers=headers).status_code == 403
        form = HOME | {"Content-Type": "application/x-www-form-urlencoded"}
        assert client.post(PATH, content="all=true", headers=form).status_code == 415
    assert letters.chosen == []


@pytest.mark.parametrize(("user", "status"), [("ada", 200), ("bob", 403)])
def test_users_of_a_proxy_need_the_permission_too(user: str, status: int) -> None:
    given: dict[str, Any] = {"trusted_header": "X-User", "trusted_proxies": ("127.0.0.1",), "operator_users": ("ada",)}
    with client_of(Letters(), **given) as client:
        assert client.post(PATH, json=ALL, headers=HOME | {"X-User": user}).status_code == status


def test_on_a_server_without_sign_in_this_machine_may_and_other_sites_may_not() -> None:
    letters = Letters()
    with client_of(letters, "http://localhost", tokens=(), operator_tokens=()) as client:
        assert client.get(SESSION).json()["operator"] is True
        assert client.post(PATH, json=ALL).status_code == 200
        assert client.post(PATH, json=ALL, headers=AWAY).status_code == 403
    assert len(letters.chosen) == 1


@pytest.mark.parametrize(
    "choice",
    [{}, {"all": False}, {"all": True, "code": "too_large"}, {"code": "odd"}, {"letters": ["t/0"]}, {"any": 1}],
)
def test_a_choice_that_is_none_is_refused(choice: dict[str, Any]) -> None:
    letters = Letters()
    with client_of(letters) as client:
        assert client.post(PATH, json=choice, headers=OPERATOR).status_code == 422
    assert letters.chosen == []


def test_without_kafka_nothing_can_be_sent() -> None:
    def unavailable(_: Choice) -> Redriven:
        raise ServerUnavailable("Kafka", "localhost:9092", "start it")

    for redrive, detail in ((None, "no Kafka settings"), (unavailable, "Kafka does not answer")):
        app = create_app(GivenAnswers(), MemorySink(), WebSettings(), redrive=redrive)
        with TestClient(app, base_url="http://localhost") as client:
            answer = client.post(PATH, json=ALL)
            assert answer.status_code == 503
            assert detail in answer.json()["detail"]


def test_operators_are_enough_for_a_public_address_and_users_need_a_proxy() -> None:
    assert web_settings(host="0.0.0.0", operator_tokens=(SecretStr("operator"),)).operator_tokens
    with pytest.raises(ConfigError, match="HEADWATER_WEB_TRUSTED_HEADER"):
        web_settings(operator_users=("ada",))
