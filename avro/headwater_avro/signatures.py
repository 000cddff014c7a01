"""Signed messages: two headers with the id of a producer's key and the HMAC-SHA256 of the value (specification 15.5).

A file of keys has a line ``ID hmac:SECRET NAMESPACE …`` for each key. The namespaces, with ``*`` and ``?`` as in names of
files, are those of which the producer may state something.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from .errors import ConfigError, EventRejected
from .events import DatasetEvent, Event
from .secret_files import append_line, numbered_lines

KEY, SIGNATURE = "headwater.key", "headwater.signature"
"""The headers of a signed message."""
SECRET_BYTES = 32
LEAST_SECRET_BYTES = 16
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LINE = re.compile(r"(\S+)\s+hmac:([A-Za-z0-9_-]+={0,2})((?:\s+\S+)+)")


@dataclass(frozen=True, slots=True)
class ProducerKey:
    """A key of a producer: its id, its secret, and the namespaces of which it may state something."""

    id: str
    secret: bytes = field(repr=False)
    namespaces: tuple[str, ...]

    def headers(self, value: bytes) -> list[tuple[str, bytes]]:
        """Return the headers that sign a message with this value."""
        return [(KEY, self.id.encode()), (SIGNATURE, self.signature(value))]

    def signature(self, value: bytes) -> bytes:
        """Return the HMAC-SHA256 of a value, in hexadecimal digits."""
        return hmac.new(self.secret, value, hashlib.sha256).hexdigest().encode()

    def allows(self, namespace: str) -> bool:
        """Return whether the producer may state something of a namespace."""
        return any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)

    def check(self, event: Event) -> None:
        """Raise EventRejected (``not_allowed``) for an event of a job, or a dataset event of a dataset, of another namespace."""
        namespace = (event.dataset if isinstance(event, DatasetEvent) else event.job)[0]
        if not self.allows(namespace):
            raise EventRejected("not_allowed", f"the key {self.id} is not one for the namespace {namespace[:200]!r}")

    def line(self) -> str:
        """Return its line in a file of keys."""
        return f"{self.id} hmac:{base64.urlsafe_b64encode(self.secret).decode()} {' '.join(self.namespaces)}"


@dataclass(frozen=True, slots=True)
class ProducerKeys:
    """The keys of all producers by their ids."""

    keys: Mapping[str, ProducerKey]

    def signer(self, value: bytes | None, headers: Sequence[tuple[str, bytes]]) -> ProducerKey:
        """Return the key that has signed a message; raises EventRejected (``not_allowed``) if none of these has."""
        ids, signatures = ([text for name, text in headers if name == wanted] for wanted in (KEY, SIGNATURE))
        if len(ids) != 1 or len(signatures) != 1:
            # Twice: which of them a reader takes would be a matter of taste.
            raise EventRejected("not_allowed", f"a message needs the headers {KEY} and {SIGNATURE}, each once")
        key = self.keys.get(ids[0].decode("utf-8", "replace"))
        if key is None:
            raise EventRejected("not_allowed", f"the key {ids[0][:100].decode('utf-8', 'replace')!r} is not known")
        if not hmac.compare_digest(key.signature(value or b""), signatures[0].lower()):
            raise EventRejected("not_allowed", f"the signature is not that of the key {key.id} for this value")
        return key


def made_key(key_id: str, namespaces: Iterable[str]) -> ProducerKey:
    """Return a new key with a random secret; raises ConfigError for a wrong id or namespace."""
    return _key(key_id, secrets.token_bytes(SECRET_BYTES), namespaces)


def read_keys(path: Path) -> ProducerKeys:
    """Return the keys in a file; raises ConfigError that names each wrong line, and for a file without keys."""
    found: dict[str, ProducerKey] = {}
    faults: list[str] = []
    for number, line in _lines(path):
        try:
            key = _key_of(line)
            if key.id in found:
                raise ConfigError(f"the key {key.id} has an earlier line")
            found[key.id] = key
        except ConfigError as fault:
            faults.append(f"line {number}: {fault}")
    if not found and not faults:
        faults.append("it has no key: make one with `headwater keys new`")
    if faults:
        raise ConfigError(f"{path}: {'; '.join(faults)}")
    return ProducerKeys(found)


def read_key(path: Path) -> ProducerKey:
    """Return the only key in a file, that of a producer; raises ConfigError."""
    found = list(read_keys(path).keys.values())
    if len(found) != 1:
        raise ConfigError(f"{path} has {len(found)} keys: a producer needs a file with its own alone")
    return found[0]


def add_key(path: Path, made: ProducerKey) -> None:
    """Append a key to a file, which only its owner can read if it is new; raises ConfigError."""
    if path.exists() and made.id in read_keys(path).keys:
        raise ConfigError(f"{path} has a key {made.id} already: remove its line, or choose another id")
    append_line(path, made.line())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        yield from numbered_lines(path)
    except (OSError, UnicodeDecodeError) as fault:
        raise ConfigError(f"the file of keys {path} can't be read: {fault}") from fault


def _key_of(line: str) -> ProducerKey:
    parts = _LINE.fullmatch(line)
    try:
        # Not the line itself in the error: it has a secret.
        secret = base64.b64decode(parts[2], altchars=b"-_", validate=True) if parts else b""
    except ValueError:
        parts = None
    if parts is None:
        raise ConfigError("a line is ID hmac:SECRET NAMESPACE …, as `headwater keys new` prints it")
    return _key(parts[1], secret, parts[3].split())


def _key(key_id: str, secret: bytes, namespaces: Iterable[str]) -> ProducerKey:
    patterns = tuple(namespaces)
    if _ID.fullmatch(key_id) is None:
        raise ConfigError(f"{key_id[:80]!r} is not an id: 1 to 64 letters, digits, '.', '_' and '-'")
    if len(secret) < LEAST_SECRET_BYTES:
        raise ConfigError(f"the secret of {key_id} is shorter than {LEAST_SECRET_BYTES} bytes")
    if not patterns or any(not pattern or any(map(str.isspace, pattern)) for pattern in patterns):
        raise ConfigError(f"{key_id} needs namespaces without spaces (a '?' stands for any character)")
    return ProducerKey(key_id, secret, patterns)
