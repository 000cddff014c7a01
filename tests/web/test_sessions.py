"""Signing in: session cookies, trusted proxies, and requests that pages of other sites make a browser send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from headwater_avro.errors import ConfigError
from headwater_web import MemorySink, WebSettings, create_app
from headwater_web.sessions import NAME, SECURE_NAME, Sessions
from headwater_web.settings import web_settings

from ..given_answers import GivenAnswers
from .raw import sent, serving

SESSION = "/api/v1/session"
SEARCH = "/api/v1/graph/search?text=x"
EVENTS = "/api/v1/lineage"
ORIGIN = "https://lineage.example"
TOKENS = ("sesame", "open")
LOCAL = "Host: localhost"
JSON = "Content-Type: application/json"


def settings_of(**given: object) -> WebSettings:
    tokens = tuple(SecretStr(token) for token in TOKENS)
    return WebSettings(**({"tokens": tokens} | given))  # type: ignore[arg-type]


@contextmanager
def browser(settings: WebSettings | None = None, origin: str = ORIGIN) -> Iterator[TestClient]:
    """A client that stores cookies, of a server with two tokens."""
    app = create_app(GivenAnswers(), MemorySink(), settings or settings_of())
    with TestClient(app, base_url=origin) as client:
        yield client


@pytest.fixture
def signed_in() -> Iterator[TestClient]:
    with browser() as client:
        assert client.post(SESSION, json={"token": "sesame"}).status_code == 200
        yield client


def test_a_token_becomes_a_session_that_opens_every_query() -> None:
    with browser() as client:
        assert client.get(SEARCH).status_code == 401
        assert client.get(SESSION).json() == {"by": None, "user": None, "expiresAt": None, "operator": False}
        started = client.post(SESSION, json={"token": "sesame"})
        assert (started.status_code, started.json()["by"]) == (200, "cookie")
        assert client.get(SEARCH).status_code == 200
        assert client.get(SESSION).json() == started.json()


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites() -> None:
    with browser() as client:
        cookie = client.post(SESSION, json={"token": "sesame"}).headers["set-cookie"]
    assert cookie.startswith(f"{SECURE_NAME}=")
    name, *attributes = (part.strip() for part in cookie.split(";"))
    assert {each.lower() for each in attributes} == {"httponly", "secure", "samesite=strict", "path=/", "max-age=43200"}
    assert "sesame" not in name


def test_over_plain_http_the_cookie_has_no_secure_attribute() -> None:
    with browser(origin="http://localhost") as client:
        cookie = client.post(SESSION, json={"token": "sesame"}).headers["set-cookie"]
        assert cookie.startswith(f"{NAME}=")
        assert "secure" not in cookie.lower()
        assert client.get(SEARCH).status_code == 200


def test_signing_out_removes_the_cookie(signed_in: TestClient) -> None:
    answer = signed_in.delete(SESSION, headers={"Origin": ORIGIN})
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert signed_in.get(SEARCH).status_code == 401


@pytest.mark.parametrize("token", ["", "Sesame", "sesame2", "sesam", "\u00e9", "x" * 9_000])
def test_an_unknown_token_starts_no_session(token: str) -> None:
    with browser() as client:
        answer = client.post(SESSION, json={"token": token})
        assert answer.status_code in (401, 422)
        assert "set-cookie" not in answer.headers
        assert client.get(SEARCH).status_code == 401


def test_a_refused_sign_in_does_not_repeat_the_token() -> None:
    with browser() as client:
        for body in (
            {"token": "secret-of-mine"},
            {"token": "secret-of-mine", "other": 1},
            {"token": ["secret-of-mine"]},
        ):
            answer = client.post(SESSION, json=body)
            assert answer.status_code in (401, 422)
            assert "secret-of-mine" not in answer.text


def test_a_session_holds_on_every_replica_and_after_a_restart(signed_in: TestClient) -> None:
    with browser() as other:
        other.cookies.update(signed_in.cookies)
        assert other.get(SEARCH).status_code == 200


def test_a_session_ends_when_its_token_is_removed(signed_in: TestClient) -> None:
    with browser(settings_of(tokens=(SecretStr("open"),))) as other:
        other.cookies.update(signed_in.cookies)
        assert other.get(SEARCH).status_code == 401


def test_a_session_expires() -> None:
    times = [1_000.0]
    sessions = Sessions(["sesame"], 60, lambda: times[0])
    cookie, expires = sessions.started("sesame")
    times[0] = 1_059.0
    assert sessions.expiry(cookie) == expires == 1_060
    times[0] = 1_060.0
    assert sessions.expiry(cookie) is None


def test_no_other_text_is_a_session() -> None:
    sessions = Sessions(["sesame", "open"], 60, lambda: 1_000.0)
    cookie, _ = sessions.started("open")
    expires, nonce, code = cookie.split(".")
    assert sessions.expiry(cookie) == 1_060
    forged = [
        "", ".", "..", "x", f"{expires}.{nonce}.", f"9999999999.{nonce}.{code}", f"{expires}.x.{code}", cookie[:-1],
        f"{cookie}0", f"{expires}.{nonce}.{code}\u00e9", f"9{cookie}", "9" * 5_000, f"{expires}.{nonce}.{'0' * 64}",
    ]  # fmt: skip
    assert [each for each in forged if sessions.expiry(each) is not None] == []


def test_two_sessions_of_one_token_differ() -> None:
    sessions = Sessions(["sesame"], 60, lambda: 1_000.0)
    assert sessions.started("sesame")[0] != sessions.started("sesame")[0]


EVENT = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "START",
    "producer": "https://example.org",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0197c5ba-1e6e-7c6a-9d2f-1b1d8b3d1c11"},
    "job": {"namespace": "a", "name": "b"},
}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ORIGIN}, 201),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "same-origin", "Origin": ORIGIN}, 201),
        ({}, 403),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://lineage.example"}, 403),
        ({"Origin": f"{ORIGIN}:444"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": ORIGIN}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": ORIGIN, "Content-Type": "text/plain"}, 415),
        ({"Origin": ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
def test_with_a_session_only_a_page_of_the_server_changes_something(
    signed_in: TestClient, headers: dict[str, str], status: int
) -> None:
    assert signed_in.post(EVENTS, json=EVENT, headers=headers).status_code == status


def test_with_a_session_a_request_without_a_content_type_is_refused() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), settings_of())) as port:
        cookie = f"Cookie: {NAME}={Sessions(TOKENS, 60).started('open')[0]}"
        own = f"Origin: http://localhost:{port}"
        host = f"Host: localhost:{port}"
        assert sent(port, EVENTS, host, cookie, own, method="POST", body=b"{}")[0] == 415
        assert sent(port, EVENTS, host, cookie, own, JSON, method="POST", body=b"{}")[0] == 422


def test_with_a_token_a_program_needs_no_origin() -> None:
    with browser() as client:
        assert client.post(EVENTS, json=EVENT, headers={"Authorization": "Bearer open"}).status_code == 201


def test_another_site_neither_signs_a_browser_in_nor_out(signed_in: TestClient) -> None:
    foreign = {"Origin": "https://attacker.example"}
    assert signed_in.post(SESSION, json={"token": "open"}, headers=foreign).status_code == 403
    assert signed_in.post(SESSION, json={"token": "open"}, headers={"Content-Type": "text/plain"}).status_code == 415
    assert signed_in.delete(SESSION, headers=foreign).status_code == 403
    assert signed_in.delete(SESSION).status_code == 403
    assert signed_in.get(SEARCH).status_code == 200


def test_signing_in_has_the_limits_of_any_request() -> None:
    with browser(settings_of(max_body=100)) as client:
        assert client.post(SESSION, json={"token": "x" * 200}).status_code == 413


def test_a_session_opens_no_more_than_its_path() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), settings_of())) as port:
        assert sent(port, SESSION, LOCAL)[0] == 200
        for target in (f"{SESSION}/", f"{SESSION}/x", f"{SESSION}/../graph/reports", f"/{SESSION}", f"{SESSION}%2f"):
            assert sent(port, target, LOCAL)[0] in (400, 401), target


def test_a_server_without_tokens_needs_no_session() -> None:
    with browser(WebSettings(), "http://localhost") as client:
        assert client.get(SESSION).json()["by"] == "local"
        assert client.post(SESSION, json={"token": "x"}).status_code == 400
        assert client.get(SESSION, headers={"Host": "attacker.example"}).status_code == 403


def test_how_a_program_is_signed_in() -> None:
    with browser() as client:
        assert client.get(SESSION, headers={"Authorization": "Bearer open"}).json()["by"] == "token"


# ---- a trusted proxy -------------------------------------------------------------------------------------------------

HEADER = "X-Forwarded-User"


def proxied(*networks: str, tokens: bool = True, **given: object) -> WebSettings:
    more: dict[str, object] = {} if tokens else {"tokens": ()}
    return settings_of(trusted_header=HEADER, trusted_proxies=networks, **more, **given)


@pytest.mark.parametrize("tokens", [True, False])
def test_a_trusted_proxy_names_the_user(tokens: bool) -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), proxied("10.0.0.0/8", "127.0.0.1", tokens=tokens))) as port:
        assert sent(port, SEARCH, LOCAL, f"{HEADER}: ada")[0] == 200
        status, body = sent(port, SESSION, "Host: lineage.example", f"{HEADER}: ada")
        assert (status, b'"by":"header","user":"ada"' in body.replace(b" ", b"")) == (200, True)
        assert sent(port, SEARCH, LOCAL)[0] == 401
        assert sent(port, SEARCH, LOCAL, f"{HEADER}: ")[0] == 401
        assert sent(port, SEARCH, LOCAL, "X-Forwarded-User-2: ada")[0] == 401


def test_a_client_beside_the_proxy_names_nobody() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), proxied("10.0.0.0/8"))) as port:
        assert sent(port, SEARCH, LOCAL, f"{HEADER}: ada")[0] == 401
        for claimed in ("X-Forwarded-For: 10.1.2.3", "Forwarded: for=10.1.2.3", "X-Real-IP: 10.1.2.3"):
            assert sent(port, SEARCH, LOCAL, f"{HEADER}: ada", claimed)[0] == 401, claimed


def test_a_header_that_came_through_the_proxy_twice_names_nobody() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), proxied("127.0.0.1"))) as port:
        assert sent(port, SEARCH, LOCAL, f"{HEADER}: root", f"{HEADER}: ada")[0] == 401


def test_the_header_has_no_meaning_without_the_setting() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), settings_of(trusted_proxies=("127.0.0.1",)))) as port:
        assert sent(port, SEARCH, LOCAL, f"{HEADER}: ada")[0] == 401


def test_behind_a_proxy_another_site_changes_nothing() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), proxied("127.0.0.1"))) as port:
        named = (LOCAL, f"{HEADER}: ada", JSON)
        assert sent(port, EVENTS, *named, method="POST", body=b"{}")[0] == 403
        assert sent(port, EVENTS, *named, "Origin: https://attacker.example", method="POST", body=b"{}")[0] == 403
        assert sent(port, EVENTS, *named, "Origin: http://localhost", method="POST", body=b"{}")[0] == 422
        secure = (*named, "X-Forwarded-Proto: https", "Origin: https://localhost")
        assert sent(port, EVENTS, *secure, method="POST", body=b"{}")[0] == 422


def test_a_proxy_of_this_machine_states_that_the_client_uses_https() -> None:
    with serving(create_app(GivenAnswers(), MemorySink(), WebSettings(allowed_hosts=("lineage.example",)))) as port:
        named = ("Host: lineage.example", "Origin: https://lineage.example")
        assert sent(port, SEARCH, *named, "X-Forwarded-Proto: https")[0] == 200
        assert sent(port, SEARCH, *named)[0] == 403


def test_a_trusted_header_needs_its_proxies_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_WEB_TRUSTED_HEADER", HEADER)
    with pytest.raises(ConfigError, match="set HEADWATER_WEB_TRUSTED_PROXIES"):
        web_settings()
    monkeypatch.setenv("HEADWATER_WEB_TRUSTED_PROXIES", '["10.0.0.0/8", "::1"]')
    assert web_settings(host="0.0.0.0").trusted_header == HEADER
    monkeypatch.setenv("HEADWATER_WEB_TRUSTED_PROXIES", '["proxy"]')
    with pytest.raises(ConfigError, match="HEADWATER_WEB_TRUSTED_PROXIES, item 1"):
        web_settings()
    monkeypatch.setenv("HEADWATER_WEB_TRUSTED_HEADER", "Authorization")
    with pytest.raises(ConfigError, match="HEADWATER_WEB_TRUSTED_HEADER"):
        web_settings()
