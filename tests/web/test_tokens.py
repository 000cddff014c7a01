"""Tokens with names and scopes: their file, what each scope opens, the limit on wrong ones, and the audit log."""

from __future__ import annotations

import json
import logging
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from headwater_avro.errors import ConfigError
from headwater_cli.operations.tokens import tokens
from headwater_consumer.kafka.redrive import Redriven
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.access import scope_of
from headwater_web.failures import MOST_ADDRESSES, WINDOW, FailureLimit
from headwater_web.settings import web_settings
from headwater_web.tokens import SCOPES, AccessScope, add_token, made_token, read_tokens

from ..given_answers import GivenAnswers

READ = ("GET", "/api/v1/graph/search?text=x", None)
CYPHER = ("POST", "/api/v1/graph/cypher", {"query": "RETURN 1"})
INGEST = (
    "POST",
    "/api/v1/lineage",
    {"eventTime": "2025-01-01T00:00:00Z", "run": {"runId": "r"}, "job": {"namespace": "n", "name": "j"}},
)
REDRIVE = ("POST", "/api/v1/dead-letters/redrive", {"all": True})
REQUESTS: dict[AccessScope, tuple[str, str, Any]] = {
    "read": READ,
    "cypher": CYPHER,
    "ingest": INGEST,
    "redrive": REDRIVE,
}
ALLOWED = {"read": 200, "cypher": 404, "ingest": 201, "redrive": 200}
"""Without Neo4j the server has no free Cypher, and says so to those who may use it."""


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def serving(**given: Any) -> Iterator[TestClient]:
    nothing = Redriven(frozenset(), frozenset())
    app = create_app(GivenAnswers(), MemorySink(), WebSettings(**given), redrive=lambda _: nothing)
    with TestClient(app, base_url="http://localhost", client=("192.0.2.1", 1)) as client:
        yield client


def file_with(folder: Path, *scopes: str, name: str = "ada") -> tuple[Path, str]:
    token, made = made_token(name, scopes)
    add_token(folder / "tokens", made)
    return folder / "tokens", token


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_opens_what_its_scope_says_and_nothing_else(scope: AccessScope, tmp_path: Path) -> None:
    path, token = file_with(tmp_path, scope)
    with serving(tokens_file=path) as client:
        for needed, (method, target, body) in REQUESTS.items():
            answer = client.request(method, target, json=body, headers=bearer(token))
            expected = ALLOWED[needed] if scope in (needed, "admin") else 403
            assert (needed, answer.status_code) == (needed, expected)


def test_a_refusal_names_the_scope_and_how_to_get_it(tmp_path: Path) -> None:
    path, token = file_with(tmp_path, "read")
    with serving(tokens_file=path) as client:
        detail = client.post(INGEST[1], json=INGEST[2], headers=bearer(token)).json()["detail"]
    assert "the scope ingest" in detail
    assert "headwater tokens new NAME --scope ingest" in detail


def test_every_changing_request_of_the_api_needs_a_scope() -> None:
    app = create_app(GivenAnswers(), MemorySink(), WebSettings())
    operations = [
        (method.upper(), path)
        for path, methods in app.openapi()["paths"].items()
        for method in methods
        if method != "get"
    ]
    assert len(operations) >= 6
    for method, path in operations:
        known = path == "/api/v1/session" or scope_of(method, path) in ("cypher", "ingest", "redrive")
        assert known, (method, path)
    assert scope_of("PUT", "/api/v1/anything/new") == "admin"


@pytest.mark.parametrize("scope", ["read", "ingest"])
def test_a_session_has_the_scopes_of_its_token(scope: str, tmp_path: Path) -> None:
    path, token = file_with(tmp_path, scope)
    with serving(tokens_file=path) as client:
        assert client.post("/api/v1/session", json={"token": token}).status_code == 200
        assert client.get(READ[1]).status_code == (200 if scope == "read" else 403)


def test_sessions_of_hashed_tokens_hold_on_replicas_with_the_same_key_and_cannot_be_made_from_hashes(
    tmp_path: Path,
) -> None:
    path, token = file_with(tmp_path, "read")
    with serving(tokens_file=path, session_key="k" * 16) as client:
        client.post("/api/v1/session", json={"token": token})
        cookie = dict(client.cookies)
    for key, status in (("k" * 16, 200), ("another key of 16", 401)):
        with serving(tokens_file=path, session_key=key) as replica:
            replica.cookies.update(cookie)
            assert replica.get(READ[1]).status_code == status


def test_the_file_has_hashes_only_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        tokens, ["new", "ada", "--scope", "read", "--scope", "cypher", "--file", str(tmp_path / "t")]
    )
    token = done.stdout.strip()
    text = (tmp_path / "t").read_text()
    assert token.startswith("hw_")
    assert token not in text
    assert text.startswith("ada read,cypher sha256:")
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600
    assert CliRunner().invoke(tokens, ["list", str(tmp_path / "t")]).stdout == "ada read,cypher\n"
    again = CliRunner().invoke(tokens, ["new", "ada", "--scope", "read", "--file", str(tmp_path / "t")])
    assert isinstance(again.exception, ConfigError)


def test_without_a_file_the_line_is_printed_below_the_token(tmp_path: Path) -> None:
    done = CliRunner().invoke(tokens, ["new", "etl", "--scope", "ingest"])
    token, line = done.stdout.splitlines()
    (tmp_path / "t").write_text(f"# producers\n\n{line}\n")
    with serving(tokens_file=tmp_path / "t") as client:
        assert client.post(INGEST[1], json=INGEST[2], headers=bearer(token)).status_code == 201


DIGEST = "sha256:" + "0" * 64
EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it has no token"),
        ("# nothing\n \n", "it has no token"),
        ("ada read secret-in-clear", "line 1: a line is NAME SCOPE,SCOPE sha256:DIGEST"),
        (f"ada read {DIGEST[:-1]}", "line 1: a line is"),
        (f"ada read,write {DIGEST}", "line 1: the scopes of ada are some of read, .*, not write"),
        (f"a/b read {DIGEST}", "line 1: 'a/b' is not a name"),
        (f"ada read {DIGEST}\nada read sha256:{'1' * 64}", "line 2: ada has the name or the token of an earlier line"),
        (f"ada read {DIGEST}\neve read {DIGEST}", "line 2: eve has the name or the token"),
        (f"ada read {EMPTY}", "line 1: ada has an empty token"),
    ],
)
def test_a_wrong_file_is_refused_at_the_start_with_its_lines(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(ConfigError, match=expected) as refused:
        create_app(GivenAnswers(), MemorySink(), WebSettings(tokens_file=tmp_path / "t"))
    assert "secret-in-clear" not in str(refused.value)


def test_a_file_that_is_missing_is_refused_and_one_is_enough_beyond_loopback(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"HEADWATER_WEB_TOKENS_FILE: .* can't be read"):
        read_tokens(tmp_path / "none")
    path, _ = file_with(tmp_path, "read")
    assert web_settings(host="0.0.0.0", tokens_file=path).tokens_file == path


def test_free_cypher_is_off_beyond_loopback_unless_asked_for(tmp_path: Path) -> None:
    path, _ = file_with(tmp_path, "read")
    assert web_settings().cypher_timeout == 30
    assert web_settings(host="0.0.0.0", tokens_file=path).cypher_timeout == 0
    assert web_settings(host="0.0.0.0", tokens_file=path, cypher_timeout=5).cypher_timeout == 5


# ---- wrong tokens ----------------------------------------------------------------------------------------------------


def test_after_many_wrong_tokens_none_from_that_address_is_compared(tmp_path: Path) -> None:
    path, token = file_with(tmp_path, "read")
    with serving(tokens_file=path, failures_per_minute=3, trusted_proxies=("192.0.2.1",)) as client:
        attacker, other = {"X-Forwarded-For": "198.51.100.1, 203.0.113.9"}, {"X-Forwarded-For": "203.0.113.10"}
        for _ in range(3):
            assert client.get(READ[1], headers=bearer("wrong") | attacker).status_code == 401
        refused = client.get(READ[1], headers=bearer(token) | attacker)
        assert refused.status_code == 429
        assert 0 < int(refused.headers["Retry-After"]) <= WINDOW
        assert client.post("/api/v1/session", json={"token": token}, headers=attacker).status_code == 429
        assert client.get(READ[1], headers=bearer(token) | other).status_code == 200


def test_requests_without_a_token_and_good_ones_do_not_count(tmp_path: Path) -> None:
    path, token = file_with(tmp_path, "read")
    with serving(tokens_file=path, failures_per_minute=1) as client:
        for _ in range(3):
            assert client.get(READ[1]).status_code == 401
            assert client.get(READ[1], headers=bearer(token)).status_code == 200


def test_an_address_may_try_again_when_a_minute_has_passed() -> None:
    now = [0.0]
    limit = FailureLimit(2, lambda: now[0])
    limit.count("a")
    now[0] = 30
    limit.count("a")
    assert limit.wait("a") == 30
    assert limit.wait("b") == 0
    now[0] = 61
    assert limit.wait("a") == 0


def test_the_limit_remembers_a_bounded_number_of_addresses() -> None:
    limit = FailureLimit(1)
    for number in range(MOST_ADDRESSES + 1):
        limit.count(str(number))
    assert limit.wait("0") == 0
    assert limit.wait(str(MOST_ADDRESSES)) > 0


# ---- what every response has, and what is logged ---------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/healthz", "/", "/api/v1/graph/search?text=x", "/nothing"])
def test_every_response_has_security_headers(target: str) -> None:
    with serving() as client:
        headers = client.get(target).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(line.message) for line in caplog.records if line.name == "headwater.web.audit"]


def test_every_changing_request_is_in_the_audit_log(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.INFO, "headwater.web.audit")
    path, token = file_with(tmp_path, "admin", name="ada")
    with serving(tokens_file=path) as client:
        client.get(READ[1], headers=bearer(token))
        client.post(INGEST[1], json=INGEST[2], headers=bearer(token))
        client.post(REDRIVE[1], json=REDRIVE[2], headers=bearer(token))
        client.post(INGEST[1], json=INGEST[2], headers=bearer("wrong"))
        client.post("/api/v1/session", json={"token": token})
    lines = [(line["audit"], line["status"], line["who"], line["by"]) for line in logged(caplog)]
    assert lines == [
        ("POST /api/v1/lineage", 201, "ada", "token"),
        ("POST /api/v1/dead-letters/redrive", 200, "ada", "token"),
        ("POST /api/v1/lineage", 401, None, None),
        ("POST /api/v1/session", 200, "ada", "cookie"),
    ]
    assert logged(caplog)[1]["redriven"] == 0
    assert logged(caplog)[0]["address"] == "192.0.2.1"
    assert token not in caplog.text


def test_a_line_of_the_audit_log_cannot_be_forged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headwater.web.audit")
    with serving() as client:
        client.post('/x%0a{"audit": "POST forged"}', json={})
    (line,) = [record.message for record in caplog.records if record.name == "headwater.web.audit"]
    assert "\n" not in line
