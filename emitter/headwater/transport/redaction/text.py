"""The search for secrets in a text; pure, and linear in the length of the text.

Each rule has a literal (its *hint*) and is tried where that literal occurs, over a bounded number of characters; a secret
that was found is not searched again. No step covers more than a few thousand characters, so other threads can run in
between however long the text is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from .forms import FORMS, LONGEST_PRIVATE_KEY, PRIVATE_KEY, PRIVATE_KEY_END
from .names import Secrecy, secrecy

Span: TypeAlias = tuple[int, int]
"""Where a secret begins and ends."""
Rule: TypeAlias = Callable[[str, int], Iterator[Span]]
"""Yields the secrets around a hint at a position of a text."""

LONGEST_NAME = 64
LONGEST_VALUE = 4_000

NAME_HINTS = (
    *("passw", "passphrase", "pass", "pwd", "pswd", "secret", "cred", "jaas", "token", "auth", "sig", "sas"),
    *("_key", "-key", ".key", "apikey", "accesskey", "accountkey", "privatekey", "sharedkey", "storagekey"),
    *("encryptionkey", "signingkey", "masterkey", "secretkey"),
)
_COMMANDS: dict[str, re.Pattern[str]] = {
    hint: re.compile(rf" {flags}")
    for hints, flags in (
        (("curl",), r"(?:-u|--user|--proxy-user|-U)(?:\s{1,5}|=)?['\"]?[^\s:'\"]{0,100}:(?P<s>[^\s'\"]{1,500})"),
        (("mysql", "mariadb"), r"-p['\"]?(?P<s>[^\s'\"]{1,500})"),
        (("sshpass", "mongo", "docker login", "podman login"), r"-p\s{0,5}['\"]?(?P<s>[^\s'\"-][^\s'\"]{0,500})"),
        (("redis-cli",), r"-a\s{1,5}['\"]?(?P<s>[^\s'\"]{1,500})"),
        (("ldap",), r"-w\s{1,5}['\"]?(?P<s>[^\s'\"]{1,500})"),
        (("sqlplus",), r"['\"]?\w{1,100}/(?P<s>[^\s@'\"/]{1,200})"),
    )
    for hint in hints
}
_COMMAND_END = re.compile(r"[^\\]\n|[|;]|&&|\Z", re.DOTALL)
_LONGEST_COMMAND = 1_000

_NAME = re.compile(rf"[\w.-]{{0,{LONGEST_NAME}}}")
_SCHEME_BEHIND = re.compile(r"[A-Za-z0-9+.-]{1,31}")
_USER_AND_PASSWORD = re.compile(r"://[^\s:/?#@\"'<>`]{0,200}:(?P<s>[^\s/\"'<>`]{1,500})@")
_USER_ALONE = re.compile(r"://(?P<s>[^\s:/?#@\"'<>`]{5,500})@")
_ORACLE = re.compile(r"oracle:thin:[^/@\s\"']{1,200}/(?P<s>[^@\s\"']{1,200})@", re.IGNORECASE)

_OPERATOR = re.compile(r"(?P<close>\\?[\"'`]?\]?)\s{0,10}(?P<op>=>|:=|===?|=|!=|<>|:(?!:)|,)(?P<space>\s{0,10})")
_XML = re.compile(r"(?:</name>\s{0,200}<value>|>)(?P<s>[^<>]{1,4000})</")
_LITERAL = re.compile(r"(?:\s{1,10}(?:for\s{1,10}\S{1,100}\s{0,10}=\s{0,10})?|\()(?=['\"$])", re.IGNORECASE)
_DOLLAR = re.compile(r"\$\w{0,30}\$")
_OPEN = re.compile(r"[bBrRuUfFeEnN]{0,2}(?P<q>\\?[\"'])(?P<qq>(?P=q){2})?")
_UNQUOTED = re.compile(rf"[^\s&;,'\"`)}}\]>|(\[{{<][^\s&;,'\"`)}}\]]{{0,{LONGEST_VALUE}}}")
_FLAG_VALUE = re.compile(r"\s{1,5}(?P<q>['\"]?)(?P<s>[^\s'\"-][^\s'\"]{0,1000})")
_SETTER_BEHIND = re.compile(
    r"[\"']\s{0,5}\(\s{0,5}(?:noitpo|gifnoc|fnoc|tes|tup|ytreporp|tluafedtes|gnissimfites|redaeh|dda)"
)

_NUMBER = re.compile(r"[+-]?\d{1,3}(?:\.\d+)?\Z|[+-]?0?\.\d+\Z")
_PLACEHOLDER = re.compile(r"\$\{|\$\(|\{\{|%\(\w|%s\Z|\?\Z|:\w+\Z|\$\d+\Z|\*{2,}|<")
_NO_VALUE = re.compile(
    r"(?:none|null|nil|true|false|not|is|in|and|or|required|optional|nullable|empty|missing|hidden|redacted|"
    r"(?:var)?char\d*|n?varchar2?|string(?:type)?|str|text|clob|blob|bytes?|bytea|binary|varbinary|(?:big|small|tiny)?int(?:eger)?\d*"
    r"|long|short|number|numeric|decimal|float\d*|double|real|bool(?:ean)?|date|time|datetime|timestamp(?:tz)?|uuid|json|any|object|"
    r"secretstr|optional|union|list|dict|map|array|struct)(?![\w-])",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ROOTS = tuple("os. self. this. cls. config. conf. settings. args. env. process. sys. dbutils.".split())  # noqa: SIM905
_CODE_BEHIND = frozenset("signature sig auth authorization sas".split())  # noqa: SIM905

_HEADER = re.compile(
    r"authorization[\"']?\s{0,5}[:=]\s{0,5}[\"']?(?:(?:basic|bearer|digest|negotiate|token|apikey)\s{1,5})?(?P<s>[^\s'\",]{4,4000})",
    re.IGNORECASE,
)
_SCHEMES = frozenset("basic bearer digest negotiate token apikey".split())  # noqa: SIM905
_BEARER = re.compile(r"bearer\s{1,5}(?P<s>[A-Za-z0-9+/=._~-]{8,4000})", re.IGNORECASE)
_IDENTIFIED = re.compile(
    r"identified\s{1,10}(?:with\s{1,10}\S{1,100}\s{1,10}(?:by|as)|by)\s{1,10}(?:password\s{1,10}|values\s{1,10})?",
    re.IGNORECASE,
)
_UNQUOTED_WORD = re.compile(r"[^\s'\";,$]{1,200}")


def secrets_in(text: str) -> list[Span]:
    """Return where the text has secrets: in order, without overlaps."""
    lower = _lower(text)
    found: list[Span] = []
    done = 0
    for at, rule in sorted(_places(text, lower), key=lambda place: place[0]):
        if at < done:
            continue
        for start, end in rule(text, at):
            if start >= done and end > start:
                found.append((start, end))
                done = end
    return found


def may_have_secrets(text: str) -> bool:
    """Return whether a text has a hint; much faster than ``secrets_in``."""
    lower = text.lower()
    return (
        any(hint in lower for hint in _HINTS)
        or any(hint in text for hint in _FORM_HINTS)
        or _has_longer(lower, _HINTS_BY_PART)
        or _has_longer(text, _FORM_HINTS_BY_PART)
    )


def _has_longer(text: str, hints: Mapping[str, tuple[str, ...]]) -> bool:
    return any(part in text and any(hint in text for hint in longer) for part, longer in hints.items())


def url_passwords_in(text: str) -> list[Span]:
    """Return the secrets before the host in URLs, in order."""
    found: list[Span] = []
    for at in _find(text, "://"):
        if not found or at >= found[-1][1]:
            found += _url(text, at)
    return found


def _lower(text: str) -> str:
    # A few letters become longer in lower case; positions must stay.
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _find(text: str, hint: str) -> Iterator[int]:
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + len(hint))


def _places(text: str, lower: str) -> Iterator[tuple[int, Rule]]:
    for hint, rule, folds in _RULES:
        for at in _find(lower if folds else text, hint):
            yield at, rule
    for hint, pattern in _COMMANDS.items():
        commands = _Commands(pattern)
        for at in _find(lower, hint):
            yield at, commands.secrets_around
    names = _Names()
    for hint in NAME_HINTS:
        for at in _find(lower, hint):
            yield at, names.secrets_around


class _Names:
    """The rule of named values; a name with two hints is examined once."""

    def __init__(self) -> None:
        self._end = -1

    def secrets_around(self, text: str, at: int) -> Iterator[Span]:
        if at >= self._end:
            behind = _NAME.match(text[max(0, at - LONGEST_NAME) : at][::-1])
            ahead = _NAME.match(text, at)
            assert behind is not None
            assert ahead is not None
            self._end = ahead.end()
            yield from _named(text, at - behind.end(), self._end)


def _named(text: str, start: int, end: int) -> Iterator[Span]:
    name = text[start:end]
    sure = secrecy(name)
    if sure is Secrecy.NONE or (name.lower().endswith("authorization") and _HEADER.match(text, end - 13) is not None):
        return  # in a header the credentials are secret, not their scheme
    if (literal := _LITERAL.match(text, end)) is not None and name.lower() in _LITERAL_NAMES:
        yield from _quoted(text, literal.end())
    elif (operator := _OPERATOR.match(text, end)) is not None:
        yield from _assigned(text, start, name, sure, operator)
    elif name.startswith("-") and (value := _FLAG_VALUE.match(text, end)) is not None:
        yield value.span("s")
    elif (element := _XML.match(text, end)) is not None:
        yield element.span("s")


_LITERAL_NAMES = frozenset("password passwd secret token credential credentials".split())  # noqa: SIM905


def _assigned(text: str, start: int, name: str, sure: Secrecy, operator: re.Match[str]) -> Iterator[Span]:
    op, at = operator["op"], operator.end()
    if op == "," and not (operator["close"] and _is_setter(text, start)):
        return
    if _OPEN.match(text, at) is not None or _DOLLAR.match(text, at) is not None:
        yield from _quoted(text, at)
    elif op in ("=", ":", "=>", ":=") and (value := _UNQUOTED.match(text, at)) is not None:
        tight = (
            op == "=" and not operator["space"] and not operator["close"] and operator.start("op") == operator.start()
        )
        if _is_value(text, start, name, sure, value, tight):
            yield value.span()


def _is_value(text: str, start: int, name: str, sure: Secrecy, value: re.Match[str], tight: bool) -> bool:
    word = value[0]
    if _NUMBER.match(word) or _PLACEHOLDER.match(word) or _NO_VALUE.match(word):
        return False
    if _is_code(name, value):
        return False
    if sure is Secrecy.LIKELY and not tight:
        # Text such as "unexpected token: SELECT".
        if _CODE_BEHIND & {name.lower().split(".")[-1]}:
            return False
        return _begins_line(text, start) or (len(word) >= 8 and any(map(str.isdigit, word)))
    return True


def _is_code(name: str, value: re.Match[str]) -> bool:
    """Return whether a value is an expression: a call, a member, or a column that is compared with one."""
    code = _CODE.match(value[0])
    if code is None:
        return False
    if code.end() < len(value[0]):
        return value[0][code.end()] in "(["
    last = code[0].rpartition(".")[2]
    return "." in code[0] and (code[0].startswith(_ROOTS) or last == name.rpartition(".")[2] or bool(secrecy(last)))


def _begins_line(text: str, start: int) -> bool:
    _, newline, line = text[max(0, start - 40) : start].rpartition("\n")
    return bool(newline or start <= 40) and line.strip(" \t-\"'").lower() in ("", "export", "set", "env")


def _is_setter(text: str, start: int) -> bool:
    return _SETTER_BEHIND.match(text[max(0, start - 40) : start][::-1].lower()) is not None


def _quoted(text: str, at: int) -> Iterator[Span]:
    if (dollar := _DOLLAR.match(text, at)) is not None:
        closing = text.find(dollar[0], dollar.end(), dollar.end() + LONGEST_VALUE)
        if closing >= 0:
            yield dollar.end(), closing
        return
    opening = _OPEN.match(text, at)
    if opening is None:
        return
    quote = opening[0][opening.start("q") - opening.start() :]
    if opening["qq"] and text.find(quote, opening.end(), opening.end() + LONGEST_VALUE) < 0:
        return  # an empty text before another quote
    yield opening.end(), _closing(text, opening.end(), quote)


def _closing(text: str, at: int, quote: str) -> int:
    """Return the end of a quoted value: its quote, neither escaped nor doubled; else the end of the line."""
    limit = min(len(text), at + LONGEST_VALUE)
    search = at
    while (found := text.find(quote, search, limit)) >= 0:
        escaped = len(quote) == 1 and _backslashes(text, at, found) % 2 == 1
        doubled = quote == "'" and text.startswith("''", found)
        if not escaped and not doubled:
            return found
        search = found + (2 if doubled and not escaped else 1)
    first = text.find(quote, at, limit)
    if first >= 0:
        return first
    line = text.find("\n", at, limit)
    return line if line >= 0 else limit


def _backslashes(text: str, start: int, at: int) -> int:
    count = 0
    while at - count > start and text[at - count - 1] == "\\":
        count += 1
    return count


def _url(text: str, at: int) -> Iterator[Span]:
    scheme = _SCHEME_BEHIND.match(text[max(0, at - 31) : at][::-1])
    if scheme is None:
        return
    if (match := _USER_AND_PASSWORD.match(text, at)) is not None:
        yield match.span("s")
    elif (match := _USER_ALONE.match(text, at)) is not None:
        kind = scheme[0][::-1].lower()
        if kind.endswith(("http", "https")) and _is_token(match["s"]):
            yield match.span("s")


def _is_token(user: str) -> bool:
    return len(user) >= 20 or user.isupper() or (len(user) >= 8 and any(map(str.isdigit, user)))


def _pattern(pattern: re.Pattern[str]) -> Rule:
    group = "s" if "s" in pattern.groupindex else 0

    def rule(text: str, at: int) -> Iterator[Span]:
        if (match := pattern.match(text, at)) is not None:
            yield match.span(group)

    return rule


def _header(text: str, at: int) -> Iterator[Span]:
    match = _HEADER.match(text, at)
    if match is not None and match["s"].lower() not in _SCHEMES:
        yield match.span("s")


def _identified(text: str, at: int) -> Iterator[Span]:
    if (match := _IDENTIFIED.match(text, at)) is not None:
        if (unquoted := _UNQUOTED_WORD.match(text, match.end())) is not None:
            yield unquoted.span()
        else:
            yield from _quoted(text, match.end())


def _private_key(text: str, at: int) -> Iterator[Span]:
    if (begin := PRIVATE_KEY.match(text, at)) is not None:
        limit = min(len(text), begin.end() + LONGEST_PRIVATE_KEY)
        end = text.find("-----END", begin.end(), limit)
        whole = PRIVATE_KEY_END.match(text, end) if end >= 0 else None
        yield at, (whole.end() if whole is not None else limit if end < 0 else end)


class _Commands:
    """The rule of passwords in commands; a command line is examined once for each kind of command."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._end = -1

    def secrets_around(self, text: str, at: int) -> Iterator[Span]:
        if at >= self._end:
            end = _COMMAND_END.search(text, at, min(len(text), at + _LONGEST_COMMAND))
            assert end is not None
            self._end = end.start() + 1
            for match in self._pattern.finditer(text, at, self._end):
                yield match.span("s")


_RULES: tuple[tuple[str, Rule, bool], ...] = (
    ("://", _url, False),
    ("oracle:thin:", _pattern(_ORACLE), True),
    ("authorization", _header, True),
    ("bearer", _pattern(_BEARER), True),
    ("identified", _identified, True),
    ("-----BEGIN ", _private_key, False),
    *((form.hint, _pattern(form.pattern), False) for form in FORMS),
)
# For most events the search for literals costs more than everything else: hints that share a rare part are searched by that
# part first.
_HINTS = tuple("pass secret cred jaas token auth sig sas bearer identified oracle:thin: sqlplus @".split())  # noqa: SIM905
_HINTS_BY_PART: dict[str, tuple[str, ...]] = {
    "key": tuple(hint for hint in NAME_HINTS if "key" in hint),
    "wd": ("pwd", "pswd"),
    " -": tuple(hint for hint in _COMMANDS if hint not in _HINTS),
}
_FORM_PARTS = ("IA", "t-", "gh", "hooks")
_FORM_HINTS_BY_PART: dict[str, tuple[str, ...]] = {
    part: tuple(form.hint for form in FORMS if part in form.hint) for part in _FORM_PARTS
}
_FORM_HINTS = (
    "-----BEGIN ",
    *(form.hint for form in FORMS if not any(part in form.hint for part in _FORM_PARTS)),
)
