"""Signed messages: which are accepted, and what a key may state."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from headwater_avro.errors import ConfigError, EventRejected
from headwater_avro.json_codec import read_event
from headwater_avro.signatures import KEY, SIGNATURE, ProducerKey, ProducerKeys, made_key, read_key, read_keys
from headwater_cli.operations.keys import keys as command

SHOP = ProducerKey("shop", b"s" * 32, ("shop", "shop-*"))
OTHER = ProducerKey("other", b"o" * 32, ("*",))
KEYS = ProducerKeys({"shop": SHOP, "other": OTHER})
VALUE = b'{"eventTime":"2025-01-01T00:00:00Z"}'


def test_a_signature_is_hmac_sha256_in_hexadecimal_digits() -> None:
    # From RFC 4231, test case 2.
    key = ProducerKey("k", b"Jefe", ("*",))
    expected = b"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert key.headers(b"what do ya want for nothing?") == [(KEY, b"k"), (SIGNATURE, expected)]


def test_a_signed_message_names_its_key() -> None:
    assert KEYS.signer(VALUE, [("other", b"x"), *SHOP.headers(VALUE)]) is SHOP
    assert KEYS.signer(None, SHOP.headers(b"")) is SHOP
    assert KEYS.signer(VALUE, [(KEY, b"shop"), (SIGNATURE, SHOP.signature(VALUE).upper())]) is SHOP


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], "needs the headers"),
        ([(KEY, b"shop")], "needs the headers"),
        ([(SIGNATURE, SHOP.signature(VALUE))], "needs the headers"),
        ([*SHOP.headers(VALUE), *SHOP.headers(VALUE)], "each once"),
        ([*SHOP.headers(VALUE), (KEY, b"other")], "each once"),
        ([(KEY, b"nobody"), (SIGNATURE, SHOP.signature(VALUE))], "'nobody' is not known"),
        ([(KEY, b"\xff"), (SIGNATURE, SHOP.signature(VALUE))], "is not known"),
        ([(KEY, b"other"), (SIGNATURE, SHOP.signature(VALUE))], "not that of the key other"),
        (SHOP.headers(VALUE + b" "), "not that of the key shop"),
        ([(KEY, b"shop"), (SIGNATURE, b"")], "not that of the key shop"),
        ([(KEY, b"shop"), (SIGNATURE, b"\xff\x00")], "not that of the key shop"),
    ],
)
def test_any_other_message_is_not_allowed(headers: list[tuple[str, bytes]], expected: str) -> None:
    with pytest.raises(EventRejected, match=expected) as refused:
        KEYS.signer(VALUE, headers)
    assert refused.value.code == "not_allowed"


RUN = '{"eventTime":"2025-01-01T00:00:00Z","run":{"runId":"r"},"job":{"namespace":"%s","name":"j"}}'
JOB = '{"eventTime":"2025-01-01T00:00:00Z","job":{"namespace":"%s","name":"j"}}'
DATASET = '{"eventTime":"2025-01-01T00:00:00Z","dataset":{"namespace":"%s","name":"d"}}'


@pytest.mark.parametrize("event", [RUN, JOB, DATASET])
@pytest.mark.parametrize(
    ("namespace", "is_allowed"), [("shop", True), ("shop-eu", True), ("SHOP", False), ("shops", False)]
)
def test_a_key_is_for_its_namespaces(event: str, namespace: str, is_allowed: bool) -> None:
    found = read_event((event % namespace).encode())
    if is_allowed:
        SHOP.check(found)
    else:
        with pytest.raises(EventRejected, match="not one for the namespace"):
            SHOP.check(found)


def test_a_key_made_by_the_command_signs_and_is_listed_without_its_secret(tmp_path: Path) -> None:
    file, own = tmp_path / "all.keys", tmp_path / "shop.key"
    new = ["new", "shop", "--namespace", "shop", "--namespace", "shop-*", "--file", str(file)]
    own.write_text(CliRunner().invoke(command, new).stdout)
    assert CliRunner().invoke(command, ["new", "etl", "--namespace", "etl", "--file", str(file)]).exit_code == 0
    assert read_keys(file).signer(VALUE, read_key(own).headers(VALUE)).id == "shop"
    assert CliRunner().invoke(command, ["list", str(file)]).stdout == "shop shop shop-*\netl etl\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert isinstance(CliRunner().invoke(command, new).exception, ConfigError)
    with pytest.raises(ConfigError, match="has 2 keys: a producer needs"):
        read_key(file)


@pytest.mark.parametrize(("namespace", "code"), [("shop-eu", 0), ("etl", 1)])
def test_a_key_can_be_checked(namespace: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "k").write_text(SHOP.line())
    checked = CliRunner().invoke(command, ["check", str(tmp_path / "k"), "shop", namespace], standalone_mode=False)
    assert checked.return_value == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it has no key"),
        ("shop", "line 1: a line is ID hmac:SECRET NAMESPACE"),
        ("shop hmac:c2VjcmV0 shop", "line 1: the secret of shop is shorter than 16 bytes"),
        ("shop hmac: shop", "line 1: a line is"),
        (f"{SHOP.line()}\n{SHOP.line()}", "line 2: the key shop has an earlier line"),
        (SHOP.line().replace("shop hmac", "a/b hmac"), "line 1: 'a/b' is not an id"),
        (SHOP.line().split(" shop")[0], "line 1: a line is"),
    ],
)
def test_a_wrong_file_is_refused_with_its_lines_and_without_secrets(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(ConfigError, match=expected) as refused:
        read_keys(tmp_path / "k")
    assert "c3Nz" not in str(refused.value)


def test_a_made_key_has_a_secret_of_its_own() -> None:
    assert made_key("a", ["x"]).secret != made_key("a", ["x"]).secret
    assert "secret" not in repr(made_key("a", ["x"]))
