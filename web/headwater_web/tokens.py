"""Tokens with names and scopes, stored as hashes: a file with one line for each, ``NAME SCOPE,SCOPE sha256:DIGEST``.

The tokens that ``made_token`` makes have 256 random bits, so that a plain SHA-256 of them cannot be reversed by guessing.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from headwater_avro.errors import ConfigError
from headwater_avro.secret_files import append_line, numbered_lines

AccessScope: TypeAlias = Literal["read", "cypher", "ingest", "redrive", "admin"]
"""What a caller may do: ask, ask in free Cypher, send events, send dead letters back; ``admin`` includes all others."""

SCOPES: tuple[AccessScope, ...] = get_args(AccessScope)
EVERYTHING: frozenset[AccessScope] = frozenset(SCOPES)
USUAL: frozenset[AccessScope] = frozenset(("read", "cypher", "ingest"))
"""The scopes of tokens without a name, and of users whom a proxy names."""

OPERATORS: frozenset[AccessScope] = frozenset((*USUAL, "redrive"))
"""The scopes of the tokens and users of operators."""

PREFIX = "hw_"
"""What made tokens begin with, so that programs that search for secrets can recognise them."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LINE = re.compile(r"(\S+)[ \t]+(\S+)[ \t]+sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Holder:
    """The name of who holds a token, and the scopes of the token."""

    name: str
    scopes: frozenset[AccessScope]

    def may(self, scope: AccessScope) -> bool:
        """Return whether the scopes include this one."""
        return scope in self.scopes or "admin" in self.scopes


@dataclass(frozen=True, slots=True)
class HashedToken:
    """A token as a server knows it: its holder and its SHA-256."""

    holder: Holder
    digest: bytes

    def line(self) -> str:
        """Return its line in a file of tokens."""
        scopes = ",".join(scope for scope in SCOPES if scope in self.holder.scopes)
        return f"{self.holder.name} {scopes} sha256:{self.digest.hex()}"


def digest_of(token: bytes) -> bytes:
    """Return the SHA-256 of a token."""
    return hashlib.sha256(token).digest()


def made_token(name: str, scopes: Iterable[str]) -> tuple[str, HashedToken]:
    """Return a new random token and what a server needs to know of it; raises ConfigError for a wrong name or scope."""
    token = PREFIX + secrets.token_urlsafe(32)
    return token, HashedToken(_holder(name, scopes), digest_of(token.encode()))


def _holder(name: str, scopes: Iterable[str]) -> Holder:
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{name[:80]!r} is not a name: 1 to 64 letters, digits, '.', '_' and '-'")
    given = frozenset(scopes)
    if not given or not given <= EVERYTHING:
        unknown = ", ".join(sorted(given - EVERYTHING)) or "none"
        raise ConfigError(f"the scopes of {name} are some of {', '.join(SCOPES)}, not {unknown[:80]}")
    return Holder(name, frozenset(scope for scope in SCOPES if scope in given))


def read_tokens(path: Path) -> tuple[HashedToken, ...]:
    """Return the tokens in a file; raises ConfigError that names each line that is wrong, and for a file without tokens.

    Lines that are empty or begin with ``#`` have no meaning.
    """
    try:
        lines = list(numbered_lines(path))
    except (OSError, UnicodeDecodeError) as fault:
        raise ConfigError(f"HEADWATER_WEB_TOKENS_FILE: {path} can't be read: {fault}") from fault
    found: list[HashedToken] = []
    faults: list[str] = []
    for number, line in lines:
        try:
            found.append(_token_of(line, found))
        except ConfigError as fault:
            faults.append(f"line {number}: {fault}")
    if not found and not faults:
        faults.append("it has no token: make one with `headwater tokens new`")
    if faults:
        raise ConfigError(f"HEADWATER_WEB_TOKENS_FILE: {path}: {'; '.join(faults)}")
    return tuple(found)


def _token_of(line: str, earlier: Iterable[HashedToken]) -> HashedToken:
    parts = _LINE.fullmatch(line)
    if parts is None:
        # Not the line itself: somebody may have written the token instead of its hash.
        raise ConfigError("a line is NAME SCOPE,SCOPE sha256:DIGEST, as `headwater tokens new` prints it")
    made = HashedToken(_holder(parts[1], parts[2].split(",")), bytes.fromhex(parts[3]))
    if made.digest == digest_of(b""):
        raise ConfigError(f"{made.holder.name} has an empty token")
    for other in earlier:
        if other.holder.name == made.holder.name or other.digest == made.digest:
            raise ConfigError(f"{made.holder.name} has the name or the token of an earlier line")
    return made


def add_token(path: Path, made: HashedToken) -> None:
    """Append a token to a file, which only its owner can read if it is new; raises ConfigError."""
    known = read_tokens(path) if path.exists() else ()
    if any(made.holder.name == other.holder.name for other in known):
        raise ConfigError(f"{path} has a token of {made.holder.name} already: remove its line, or choose another name")
    append_line(path, made.line())
