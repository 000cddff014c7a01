"""The schema registry over HTTP: schemas are requested once, and an unavailable registry is not retried at once."""

from __future__ import annotations

import base64
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headwater_avro.errors import ConfigError, EventRejected, ServerUnavailable
from headwater_avro.registry import AWAY, UNKNOWN, HttpSchemas, RegistrySettings, schemas_of

from .registries import AVRO, JSON, Registry, served


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def registry() -> Registry:
    return Registry({1: AVRO, 2: JSON})


@pytest.fixture
def url(registry: Registry) -> Iterator[str]:
    with served(registry) as address:
        yield address


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def schemas(url: str, clock: Callable[[], float]) -> HttpSchemas:
    return HttpSchemas(RegistrySettings(url), clock)


def test_a_schema_is_requested_once(schemas: HttpSchemas, registry: Registry) -> None:
    assert [schemas.schema(1), schemas.schema(2), schemas.schema(1)] == [AVRO, JSON, AVRO]
    assert registry.seen == ["/schemas/ids/1", "/schemas/ids/2"]
    registry.status = 503
    assert schemas.schema(2) == JSON


def test_an_unknown_id_is_requested_again_after_a_minute(
    schemas: HttpSchemas, registry: Registry, clock: Clock
) -> None:
    for _ in range(3):
        with pytest.raises(EventRejected, match="no schema id 7") as caught:
            schemas.schema(7)
        assert caught.value.code == "unknown_schema"
    assert len(registry.seen) == 1
    registry.schemas[7] = JSON
    clock.time += UNKNOWN
    assert schemas.schema(7) == JSON


def test_an_unavailable_registry_is_retried_after_a_second(
    schemas: HttpSchemas, registry: Registry, clock: Clock
) -> None:
    registry.status = 500
    for number in (1, 2, 1):
        with pytest.raises(ServerUnavailable, match="HTTP 500"):
            schemas.schema(number)
    assert len(registry.seen) == 1
    registry.status = 200
    clock.time += AWAY
    assert schemas.schema(1) == AVRO


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (404, b"<html>no such page</html>", "check the path of HEADWATER_SCHEMA_REGISTRY_URL"),
        (404, b"[]", "check the path"),
        (401, b"", "refuses HEADWATER_SCHEMA_REGISTRY_USER"),
        (403, b"", "refuses HEADWATER_SCHEMA_REGISTRY_USER"),
    ],
)
def test_only_a_404_of_the_registry_itself_makes_an_id_unknown(
    schemas: HttpSchemas, registry: Registry, status: int, body: bytes, expected: str
) -> None:
    registry.status, registry.body = status, body
    with pytest.raises(ServerUnavailable, match=expected):
        schemas.schema(1)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"schema": 1}', b"[]"])
def test_a_malformed_response_means_unavailable(
    schemas: HttpSchemas, registry: Registry, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "answer", lambda path: (200, body))
    with pytest.raises(ServerUnavailable):
        schemas.schema(1)


def test_a_refused_connection_means_unavailable() -> None:
    with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1"):
        HttpSchemas(RegistrySettings("http://127.0.0.1:1")).schema(1)


def test_the_first_address_that_answers_is_used(url: str) -> None:
    schemas = HttpSchemas(RegistrySettings(f"http://127.0.0.1:1, {url}/"))
    assert schemas.schema(1) == AVRO


def test_the_account_is_sent_and_never_shown(url: str, registry: Registry) -> None:
    settings = RegistrySettings(url, "ada", "s3cret")
    assert HttpSchemas(settings).subjects() == 2
    assert registry.accounts == [f"Basic {base64.b64encode(b'ada:s3cret').decode()}"]
    assert "s3cret" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl: apt-get install openssl")
def test_a_certificate_is_verified_against_the_given_authorities(registry: Registry, tmp_path: Path) -> None:
    key, certificate, identity = (tmp_path / name for name in ("key.pem", "ca.pem", "identity.pem"))
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    command += ["-days", "1", "-subj", "/CN=registry", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    identity.write_bytes(key.read_bytes() + certificate.read_bytes())
    with served(registry, identity=identity) as address:
        assert HttpSchemas(RegistrySettings(address, ca=str(certificate))).schema(1) == AVRO
        with pytest.raises(ServerUnavailable, match="certificate"):
            HttpSchemas(RegistrySettings(address)).schema(1)


def test_equal_settings_share_a_registry(url: str) -> None:
    assert schemas_of(RegistrySettings(url)) is schemas_of(RegistrySettings(url))


def test_wrong_settings_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="http://"):
        HttpSchemas(RegistrySettings("registry:8081"))
    with pytest.raises(ConfigError, match="_USER and _PASSWORD") as caught:
        HttpSchemas(RegistrySettings("https://ada:s3cret@registry"))
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ConfigError, match="HEADWATER_SCHEMA_REGISTRY_CA"):
        HttpSchemas(RegistrySettings("https://registry", ca=str(tmp_path / "none.pem")))
