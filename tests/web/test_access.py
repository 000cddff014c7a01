"""Access control: requests as an attacker writes them, over a real socket."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from packaging.requirements import Requirement
from pydantic import SecretStr

from headwater_avro.errors import ConfigError
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.access import Tokens
from headwater_web.settings import web_settings

from ..given_answers import GivenAnswers
from .raw import sent, serving

SEARCH = "/api/v1/graph/search?text=x"
CYPHER = "/api/v1/graph/cypher"
LOCAL = "Host: localhost"


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    app = create_app(GivenAnswers(), MemorySink(), WebSettings(tokens=(SecretStr("open"), SecretStr("sesame"))))
    with serving(app) as port:
        yield port


@pytest.mark.parametrize("host", ["x/healthz?", "x/readyz?", "x/healthz#", "x/healthz%3F", "x/healthz\\", "@/healthz?"])
@pytest.mark.parametrize("target", [SEARCH, "/api/v1/openapi.json", "/api/v1/graph/reports"])
def test_a_host_header_does_not_replace_the_path_that_needs_a_token(guarded: int, host: str, target: str) -> None:
    assert sent(guarded, target, f"Host: {host}")[0] in (400, 401)


@pytest.mark.parametrize("host", ["x/healthz?", "localhost"])
def test_a_host_header_opens_neither_ingest_nor_cypher(guarded: int, host: str) -> None:
    for target in ("/api/v1/lineage", "/api/v1/lineage/batch", "/api/v1/graph/cypher"):
        status, _ = sent(guarded, target, f"Host: {host}", "Content-Type: application/json", method="POST", body=b"{}")
        assert status in (400, 401)


@pytest.mark.parametrize(
    "target",
    [
        f"//healthz/..{SEARCH}",
        f"/healthz/..{SEARCH}",
        f"/healthz/%2e%2e{SEARCH}",
        f"/healthz/%2E%2E%2F{SEARCH[1:]}",
        f"/%2e/healthz/..{SEARCH}",
        f"/healthz;{SEARCH}",
        "/healthz/",
        "/healthz/x",
        "//healthz",
        "/HEALTHZ",
        "/healthz%00",
        "/healthz%2F",
        "/x/healthz",
        "http://localhost/healthz",
        f"http://x/healthz?@localhost{SEARCH}",
        f"http://localhost{SEARCH}",
        f"{SEARCH}&x=/healthz",
        f"{SEARCH}#/healthz",
        f"{SEARCH[:-7]}/../../../../healthz",
    ],
)
def test_only_the_two_open_paths_themselves_need_no_token(guarded: int, target: str) -> None:
    status, body = sent(guarded, target, LOCAL)
    assert status in (400, 401), body


@pytest.mark.parametrize("target", ["/healthz", "/healthz?x=1", "/readyz", "/%68ealthz"])
def test_the_open_paths_answer_without_a_token_and_with_any_host(guarded: int, target: str) -> None:
    assert sent(guarded, target, "Host: 10.1.2.3:8080")[0] == 200


def test_a_token_opens_every_path_whatever_the_host(guarded: int) -> None:
    for host in ("localhost", "lineage.example", "x/healthz?"):
        assert sent(guarded, SEARCH, f"Host: {host}", "Authorization: Bearer sesame")[0] == 200


def test_below_a_prefix_the_same_paths_are_open(guarded: int) -> None:
    outer = FastAPI()
    outer.mount("/lineage", create_app(GivenAnswers(), MemorySink(), WebSettings(tokens=(SecretStr("open"),))))
    with serving(outer) as port:
        assert sent(port, "/lineage/healthz", LOCAL)[0] == 200
        assert sent(port, f"/lineage{SEARCH}", LOCAL)[0] == 401
        assert sent(port, f"/lineage{SEARCH}", LOCAL, "Authorization: Bearer open")[0] == 200
        assert sent(port, "/lineage/lineage/healthz", LOCAL)[0] == 401


@pytest.fixture(scope="module")
def local() -> Iterator[int]:
    """A server without tokens that allows another host name and another origin."""
    known = WebSettings(allowed_hosts=("lineage.example",), cors_origins=("https://portal.example",))
    with serving(create_app(GivenAnswers(), MemorySink(), known)) as port:
        yield port


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8080", "lineage.example:443"]
)
def test_without_tokens_a_server_answers_under_its_own_names(local: int, host: str) -> None:
    assert sent(local, SEARCH, f"Host: {host}") == (200, b'{"nodes":[]}')


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "attacker.example:8080",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example",
        "attacker.example/localhost",
        "localhost@attacker.example",
        "lineage.example.attacker.example",
        "0.0.0.0",
        "10.1.2.3",
        "[::2]",
        "[::1",
        "localhost:80:80",
        "localhost?",
        "",
    ],
)
def test_without_tokens_a_name_rebound_to_loopback_is_refused(local: int, host: str) -> None:
    status, body = sent(local, SEARCH, f"Host: {host}")
    assert status == 403
    assert b"HEADWATER_WEB_ALLOWED_HOSTS" in body
    assert sent(local, "/healthz", f"Host: {host}")[0] == 200


FOREIGN = [
    ("Origin: https://attacker.example",),
    ("Origin: null",),
    ("Origin: http://localhost:3000",),
    ("Origin: https://localhost",),
    ("Origin: http://localhost", "Sec-Fetch-Site: cross-site", "Host: lineage.example"),
    ("Sec-Fetch-Site: cross-site",),
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(("method", "target"), [("GET", SEARCH), ("POST", "/api/v1/lineage"), ("POST", CYPHER)])
def test_without_tokens_a_page_of_another_origin_is_refused(
    local: int, headers: tuple[str, ...], method: str, target: str
) -> None:
    named = headers if any(header.startswith("Host") for header in headers) else (LOCAL, *headers)
    status, body = sent(local, target, *named, "Content-Type: application/json", method=method, body=b"{}")
    assert status == 403
    assert b"HEADWATER_WEB_CORS_ORIGINS" in body


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("Origin: http://localhost",),
        ("Origin: https://portal.example",),
        ("Origin: https://portal.example", "Sec-Fetch-Site: cross-site"),
        ("Origin: http://localhost", "Sec-Fetch-Site: same-origin"),
        ("Sec-Fetch-Site: none",),
    ],
)
def test_without_tokens_programs_and_known_pages_are_answered(local: int, headers: tuple[str, ...]) -> None:
    assert sent(local, SEARCH, LOCAL, *headers)[0] == 200


EVENT = (
    b'{"eventTime": "2026-01-01T00:00:00Z", "eventType": "START", "run": {"runId": "r"},'
    b' "job": {"namespace": "n", "name": "j"}}'
)
FORMS = ["text/plain", "text/plain; x=application/json", "application/x-www-form-urlencoded", "multipart/form-data", ""]


@pytest.mark.parametrize("content_type", FORMS)
@pytest.mark.parametrize("target", ["/api/v1/lineage", "/api/v1/lineage/batch", CYPHER])
def test_without_tokens_a_body_that_any_page_can_post_is_refused(local: int, target: str, content_type: str) -> None:
    status, body = sent(local, target, LOCAL, f"Content-Type: {content_type}", method="POST", body=EVENT)
    assert status == 415
    assert b"Content-Type: application/json" in body


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("Content-Type: application/json",),
        ("Content-Type: Application/JSON; charset=utf-8",),
        ("Content-Type: application/cloudevents+json",),
        ("Content-Type: application/x-ndjson",),
        ("Content-Type: application/gzip",),
        ("Content-Type: application/zstd",),
    ],
)
def test_without_tokens_the_requests_of_clients_are_accepted(local: int, headers: tuple[str, ...]) -> None:
    assert sent(local, "/api/v1/lineage", LOCAL, *headers, method="POST", body=EVENT)[0] == 201


def test_with_tokens_neither_host_nor_origin_nor_type_matter(guarded: int) -> None:
    headers = ("Host: lineage.example", "Origin: https://attacker.example", "Content-Type: text/plain")
    given = (*headers, "Authorization: bearer open")
    assert sent(guarded, "/api/v1/lineage", *given, method="POST", body=EVENT)[0] == 201
    assert sent(guarded, "/api/v1/lineage", *headers, method="POST", body=EVENT)[0] == 401


@pytest.mark.parametrize("tokens", ['[""]', '[" "]', '["\\t"]', '["good", ""]', '["a b"]', '["gr\u00fcn"]', "open"])
def test_a_token_that_is_empty_or_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch, tokens: str) -> None:
    monkeypatch.setenv("HEADWATER_WEB_TOKENS", tokens)
    with pytest.raises(ConfigError, match="HEADWATER_WEB_"):
        web_settings()


@pytest.mark.parametrize("hosts", ['[""]', '["*"]', '["http://x"]', '["x:80"]', '["x/y"]'])
def test_a_host_that_is_not_a_name_is_refused(monkeypatch: pytest.MonkeyPatch, hosts: str) -> None:
    monkeypatch.setenv("HEADWATER_WEB_ALLOWED_HOSTS", hosts)
    with pytest.raises(ConfigError, match=r"HEADWATER_WEB_ALLOWED_HOSTS, item 1: .*without scheme, port and path"):
        web_settings()


def test_the_cost_of_a_wrong_token_does_not_depend_on_the_number_of_tokens() -> None:
    def steps(tokens: Tokens) -> int:
        made: list[str] = []
        sys.setprofile(lambda frame, event, argument: made.append(event))
        try:
            assert not tokens.accepts("Bearer wrong")
        finally:
            sys.setprofile(None)
        return len(made)

    assert steps(Tokens(["open"])) == steps(Tokens(map(str, range(1_000)))) > 3


def test_versions_of_starlette_that_take_the_path_from_the_host_header_are_not_allowed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    allowed = {
        each.name: each.specifier for each in map(Requirement, project["project"]["optional-dependencies"]["web"])
    }
    assert "1.0.0" not in allowed["starlette"]
    assert "0.115.12" not in allowed["fastapi"]
