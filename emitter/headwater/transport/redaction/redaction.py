"""Redaction of secrets in events, and in what headwater shows; pure.

What counts as a secret, each replaced by ``***``:

1. the password in a URL (``scheme://user:password@host``), a token that is alone before the host, and the secret part of
   a webhook's address;
2. the password in Oracle's JDBC URLs (``user/password@``);
3. values of secret-like names (``names``): ``name=value``, ``name: value``, ``name = 'value'``,
   ``"name": "value"``, ``--name value``, ``.option("name", "value")``, ``<name>value</name>``;
4. SQL literals, dollar-quoted ones too, after ``PASSWORD``, ``IDENTIFIED BY``, ``SECRET``, ``TOKEN``, ``CREDENTIALS``;
5. passwords of well-known commands: ``curl -u user:password``, ``mysql -ppassword``;
6. tokens known by their form (``forms``), bearer tokens, private keys;
7. members with a secret-like name, and the ``value`` beside a ``name`` or ``key`` that is secret-like (environment
   variables, execution parameters, tags);
8. what the user's own patterns match.

In the names of jobs, datasets and fields only passwords and tokens of URLs are replaced, because lineage depends on these
names. The replacement depends on the text alone, so equal names stay equal.
"""

from __future__ import annotations

import re
from typing import Any

from ..wire import Tree
from .names import Secrecy, secrecy
from .text import Span, may_have_secrets, secrets_in, url_passwords_in

MASK = "***"

_NEVER_REDACTED = frozenset({"runId", "eventTime", "eventType", "producer", "schemaURL", "_producer", "_schemaURL"})
_IDENTITY = frozenset({"namespace", "name", "field"})


def is_secret_name(name: str) -> bool:
    """Return whether values with this name are secrets."""
    return secrecy(name) is not Secrecy.NONE


class Redaction:
    """The rules above with the user's ``patterns``; raises re.error for an invalid pattern."""

    def __init__(self, patterns: tuple[str, ...] = ()) -> None:
        self._patterns = tuple(re.compile(pattern) for pattern in patterns)

    def suspects(self, json_text: bytes) -> bool:
        """Return whether the event may have a secret; most have none, which a search of their bytes shows quickly."""
        return bool(self._patterns) or may_have_secrets(json_text.decode("utf-8", "replace"))

    def redact(self, tree: Tree) -> tuple[Tree, int]:
        """Return the event without its secrets, and the number of texts that had any."""
        event = _EventRedaction(self)
        return event.members(tree), event.count

    def text(self, text: str) -> str:
        """Return the text without its secrets."""
        if may_have_secrets(text):
            text = _replaced(text, secrets_in(text))
        for pattern in self._patterns:
            text = pattern.sub(_mask, text)
        return text

    def identity(self, text: str) -> str:
        """Return a name or namespace without the passwords of URLs."""
        return _replaced(text, url_passwords_in(text)) if "://" in text and "@" in text else text


class _EventRedaction:
    """The redaction of one event."""

    def __init__(self, rules: Redaction) -> None:
        self._rules = rules
        self.count = 0

    def members(self, tree: Tree) -> Tree:
        label = tree.get("name", tree.get("key"))
        labelled = secrecy(label) if "value" in tree and isinstance(label, str) else Secrecy.NONE
        return {
            key: self._hidden(value, sure) if (sure := _secrecy(key, labelled)) else self._member(key, value)
            for key, value in tree.items()
        }

    def _member(self, key: str, value: Any) -> Any:
        if isinstance(value, str):
            if key in _NEVER_REDACTED:
                return value
            return self._changed(value, self._rules.identity(value) if key in _IDENTITY else self._rules.text(value))
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self.members(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self._changed(value, self._rules.text(value)) if isinstance(value, str) else value

    def _hidden(self, value: Any, sure: Secrecy) -> Any:
        # A value with members of its own is not a secret but something with such a name, such as a column.
        if isinstance(value, dict):
            return self.members(value)
        if isinstance(value, list):
            return [self._hidden(item, sure) for item in value]
        # Numbers of passed checks are named ``pass`` too.
        is_plain = isinstance(value, bool) or (sure is Secrecy.LIKELY and isinstance(value, int | float))
        return value if is_plain else self._changed(value, MASK)

    def _changed(self, before: Any, after: str) -> str:
        self.count += after != before
        return after


def _secrecy(key: str, labelled: Secrecy) -> Secrecy:
    return max(labelled, secrecy(key)) if key == "value" else secrecy(key)


def _replaced(text: str, secrets: list[Span]) -> str:
    if not secrets:
        return text
    parts: list[str] = []
    at = 0
    for start, end in secrets:
        parts += (text[at:start], MASK)
        at = end
    return "".join((*parts, text[at:]))


def _mask(match: re.Match[str]) -> str:
    if not match.re.groups or match[1] is None:
        return MASK
    start, end = match.span(1)
    return match[0][: start - match.start()] + MASK + match[0][end - match.start() :]
