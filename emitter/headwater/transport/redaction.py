"""Secrets taken out of events before they leave the process; pure.

What counts as a secret, each replaced by ``***``:

1. the password in a URL (``scheme://user:password@host``), in every text, names and namespaces too;
2. ``user/password@`` in Oracle's JDBC URLs;
3. ``name=value`` with a secret-like name (``password``, ``token``, ``api_key``, …), in URLs, JDBC strings, command lines
   and code; ``name = 'value'`` and ``"name": "value"`` too;
4. SQL literals after ``PASSWORD``, ``IDENTIFIED BY``, ``SECRET``, ``TOKEN``, ``CREDENTIALS``;
5. tokens known by their form: cloud access keys, bearer tokens, JSON web tokens, private keys;
6. members with a secret-like name, and the ``value`` beside a ``name`` or ``key`` that is secret-like (environment
   variables, execution parameters, tags);
7. what the user's own patterns match.

The names of jobs, datasets and fields keep all but the passwords of URLs: lineage hangs on them. Replacing is a function
of the text alone, so equal names stay equal.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from headwater.transport.wire import Tree

MASK = "***"

_NAMES = (
    r"passw(?:or)?d|passphrase|pwd|secret|credential|jaas|private[_.-]?key"
    r"|(?:api|access|account|shared|storage|encryption|signing|master)[_.-]?key"
    r"|(?:access|auth|refresh|session|bearer|id|oauth|security)[_.-]?token"
    r"|(?<![a-z])(?:pass|auth|authorization|sig|signature|sas|token)(?![a-z])"
)
_URL_USER = r"[a-z][a-z0-9+.-]{0,30}://[^\s:/?#@\"'<>]{0,200}:"
_URL_REST = r"[^\s/\"'<>]{1,500}@"
_FORMS = (
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,100}|\bxox[abeprs]-[\w-]{10,100}|\bdapi[0-9a-f]{32}\b"
    r"|\beyJ[\w-]{10,4000}\.[\w-]{10,4000}\.[\w-]{0,4000}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
_SCHEMES = r"(?:basic|bearer|digest|negotiate|token|apikey)\s{1,5}"
_WORDS_BEFORE = r"(?:identified\s|bearer\s|authorization\s*:|oracle:thin:)"

# Every match of the rules has one of these in it, in lower case; looking for them costs a hundredth of the rules.
_HINTS = tuple("pass pwd secret credential jaas token auth sig sas identified bearer oracle:thin: @".split())  # noqa: SIM905
_FORM_HINTS = tuple("akia asia xox dapi eyj ghp_ gho_ ghu_ ghs_ ghr_".split())  # noqa: SIM905
_KEY_HINTS = tuple(
    "_key|-key|.key|apikey|accesskey|accountkey|privatekey|private key|sharedkey|storagekey|encryptionkey|signingkey|"  # noqa: SIM905
    "masterkey".split("|")
)


def _is_hinted(lower: str) -> bool:
    return (
        any(hint in lower for hint in _HINTS)
        or any(hint in lower for hint in _FORM_HINTS)
        or ("key" in lower and any(hint in lower for hint in _KEY_HINTS))
    )


_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_SUSPECT = re.compile(rf"{_NAMES}|{_URL_USER}{_URL_REST}|{_WORDS_BEFORE}|(?-i:{_FORMS})", re.IGNORECASE)

_URL_RULE = (re.compile(rf"({_URL_USER}){_URL_REST}", re.IGNORECASE), rf"\1{MASK}@")
_NAMED = rf"(?<![\w.-])([\w.-]{{0,60}}(?:{_NAMES})[\w.-]{{0,60}}"
_QUOTED = r"(?P<q>\\?[\"'])(?:(?!(?P=q)).){0,4000}(?P=q)"


def _rule(pattern: str, replacement: str) -> tuple[re.Pattern[str], str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL), replacement


_TEXT_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    _URL_RULE,
    _rule(r"(oracle:thin:[^/@\s\"']{1,200}/)[^@\s\"']{1,200}@", rf"\1{MASK}@"),
    _rule(rf"{_NAMED}\\?[\"']?\s{{0,10}}[=:]\s{{0,10}}){_QUOTED}", rf"\1\g<q>{MASK}\g<q>"),
    _rule(rf"{_NAMED}=)(?!\\?[\"'])[^\s&;,'\")}}\]]{{1,4000}}", rf"\1{MASK}"),
    _rule(rf"(--[\w-]{{0,60}}(?:{_NAMES})[\w-]{{0,60}}\s)[^\s-]\S{{0,1000}}", rf"\1{MASK}"),
    _rule(
        r"(\b(?:password|passwd|secret|token|credentials?|identified\s{1,10}by(?:\s{1,10}password)?)\s{1,10}(?:=\s{0,10})?)"
        r"(?:'(?:[^']|''){0,4000}'|\"[^\"]{0,4000}\")",
        rf"\1'{MASK}'",
    ),
    _rule(r"(\bidentified\s{1,10}by\s{1,10})[^\s'\";,]{1,200}", rf"\1{MASK}"),
    _rule(rf"(\bauthorization\s{{0,5}}:\s{{0,5}}(?:{_SCHEMES})?)(?!{_SCHEMES})[^\s'\",]{{4,4000}}", rf"\1{MASK}"),
    _rule(r"(\bbearer\s)[A-Za-z0-9+/=._~-]{8,4000}", rf"\1{MASK}"),
    (re.compile(_FORMS), MASK),
)

_LEFT_ALONE = frozenset({"runId", "eventTime", "eventType", "producer", "schemaURL", "_producer", "_schemaURL"})
_IDENTITY = frozenset({"namespace", "name", "field"})


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether what has this name is a secret."""
    return _SECRET_NAME.search(name) is not None


class Redaction:
    """The rules above with the user's ``patterns``; raises re.error for a pattern that is none."""

    def __init__(self, patterns: tuple[str, ...] = ()) -> None:
        self._own = tuple(re.compile(pattern) for pattern in patterns)

    def suspects(self, json_text: bytes) -> bool:
        """Whether there may be a secret in the event; most have none, and one look at their bytes tells."""
        return bool(self._own) or _is_hinted(json_text.decode("utf-8", "replace").lower())

    def redact(self, tree: Tree) -> tuple[Tree, int]:
        """The event without its secrets, and in how many texts there were any."""
        redacting = _Pass(self)
        return redacting.members(tree), redacting.count

    def text(self, text: str) -> str:
        """A text without its secrets."""
        if _is_hinted(text.lower()) and _SUSPECT.search(text) is not None:
            for rule, replacement in _TEXT_RULES:
                text = rule.sub(replacement, text)
        for pattern in self._own:
            text = pattern.sub(_mask, text)
        return text

    def identity(self, text: str) -> str:
        """A name or namespace without the passwords of URLs."""
        if "://" not in text:
            return text
        rule, replacement = _URL_RULE
        return rule.sub(replacement, text)


class _Pass:
    """One walk through one event."""

    def __init__(self, rules: Redaction) -> None:
        self._rules = rules
        self.count = 0

    def members(self, tree: Tree) -> Tree:
        label = tree.get("name", tree.get("key"))
        labelled = "value" in tree and isinstance(label, str) and is_secret_name(label)
        return {
            key: self._hidden(value)
            if (labelled and key == "value") or is_secret_name(key)
            else self._member(key, value)
            for key, value in tree.items()
        }

    def _member(self, key: str, value: Any) -> Any:
        if isinstance(value, str):
            if key in _LEFT_ALONE:
                return value
            return self._changed(value, self._rules.identity(value) if key in _IDENTITY else self._rules.text(value))
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self.members(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self._changed(value, self._rules.text(value)) if isinstance(value, str) else value

    def _hidden(self, value: Any) -> Any:
        # What has members of its own is no secret but something named like one, such as a column.
        if isinstance(value, dict):
            return self.members(value)
        if isinstance(value, list):
            return [self._hidden(item) for item in value]
        return value if isinstance(value, bool) else self._changed(value, MASK)

    def _changed(self, before: Any, after: str) -> str:
        self.count += after != before
        return after


def _mask(match: re.Match[str]) -> str:
    if not match.re.groups or match[1] is None:
        return MASK
    start, end = match.span(1)
    return match[0][: start - match.start()] + MASK + match[0][end - match.start() :]
