"""Canonical JSON (specification 2.1).

Nulls are removed (specification 1.1), keys are sorted by code point, there is no white space, non-ASCII characters are not
escaped, and the last of equal keys wins. Integers of up to 300 digits keep their digits; other numbers are the shortest text
that reads back as the same double, and numbers beyond the greatest double become that double. An escaped lone surrogate is
read as U+FFFD.

NaN, Infinity, invalid UTF-8 and nesting deeper than 200 levels make a message ``not_decodable``. ``msgspec.json`` cannot
replace this module: it rejects lone surrogates and numbers beyond the greatest double.
"""

from __future__ import annotations

import json
import re
import sys
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from .errors import EventRejected

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json]"
"""A JSON value without nulls, as all rules receive it."""

MAX_DEPTH = 200
MAX_INTEGER_DIGITS = 300

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NEITHER_BRACKETS_NOR_QUOTES = bytes(byte for byte in range(256) if byte not in _STEP and byte != ord('"'))
_CHUNK = 1_000_000


def text_of(message: bytes) -> str:
    """Return the text of a message without its byte order mark.

    Raises EventRejected (``not_decodable``) for invalid UTF-8 and for nesting beyond 200 levels (specification 2.1).
    """
    message = message.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = message.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise EventRejected("not_decodable", f"invalid UTF-8 at byte {fault.start}") from None
    # Counting all brackets, two scans in C, is enough for all but the widest events.
    if message.count(b"[") + message.count(b"{") > MAX_DEPTH and nesting(message) > MAX_DEPTH:
        raise EventRejected("not_decodable", f"nested deeper than {MAX_DEPTH} levels")
    return text


def nesting(message: bytes, chunk: int = _CHUNK) -> int:
    """Return the nesting depth of the brackets in a JSON text, excluding strings and including overwritten members.

    The result is never less than the depth at which a parser fails, whatever the text. It takes linear time, and splits at
    most ``chunk`` bytes at a time.
    """
    # Backslashes occur only in strings, so once escaped pairs are removed, every quote opens or closes a string. In a text
    # that is not JSON, the first backslash outside a string may begin a pair that hides a quote, but a parser fails there.
    pairs_removed = message.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in message else message
    text = pairs_removed.translate(None, _NEITHER_BRACKETS_NOR_QUOTES)
    depth = deepest = in_string = 0
    for start in range(0, len(text), chunk):
        parts = text[start : start + chunk].split(b'"')
        steps = map(_STEP.__getitem__, b"".join(parts[in_string::2]))
        depths = tuple(accumulate(steps, initial=depth))
        depth, deepest = depths[-1], max(deepest, max(depths))
        in_string ^= not len(parts) % 2
    return deepest


def parse(message: bytes) -> Json | None:
    """Return the value of a JSON text with its nulls removed; None if the whole text is ``null``.

    Raises EventRejected (``not_decodable``) for text that is not JSON or that specification 2.1 excludes.
    """
    text = text_of(message)
    decoder = _SURROGATES if _SURROGATE_ESCAPE.search(text) else _STRICT
    try:
        value = decoder.decode(text)
    except ValueError as fault:
        raise EventRejected("not_decodable", f"not JSON: {fault}") from None
    if decoder is _SURROGATES:
        value = _replace_surrogates(value)
    return without_nulls(value) if "null" in text else value


def without_nulls(value: Json | None) -> Json | None:
    """Remove null members and null list items from a value, in place, and return it (specification 1.1)."""
    if isinstance(value, dict):
        for key in [key for key, member in value.items() if member is None]:
            del value[key]
        for member in value.values():
            without_nulls(member)
    elif isinstance(value, list):
        value[:] = (item for item in value if item is not None)
        for item in value:
            without_nulls(item)
    return value


def canonical(value: Json) -> str:
    """Return the canonical JSON text of a value that has no nulls (specification 2.1)."""
    return _ENCODER.encode(value)


def canonical_text(text: bytes) -> str:
    """Return the canonical JSON of a JSON text known to be valid; ``""`` for ``null``."""
    return _canonical_small(text) if len(text) <= _SMALL else _canonical_of(text)


def parsed(text: bytes) -> Json | None:
    """Return the value of a JSON text known to be valid. Callers share the value: never change it."""
    return _parsed_small(text) if len(text) <= _SMALL else parse(text)


def _canonical_of(text: bytes) -> str:
    value = parse(text)
    return "" if value is None else canonical(value)


# Every run of a job repeats the same facets, so small ones are cached; large ones would fill the memory.
_SMALL = 4096
_canonical_small = lru_cache(maxsize=16_384)(_canonical_of)
_parsed_small = lru_cache(maxsize=16_384)(parse)


def _integer(digits: str) -> int | float:
    if len(digits.lstrip("-")) <= MAX_INTEGER_DIGITS:
        return int(digits)
    return _double(digits)


def _double(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        return sys.float_info.max if number > 0 else -sys.float_info.max
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _replace_surrogates(value: Json | None) -> Json | None:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, str | list):
                value[index] = _replace_surrogates(item)  # type: ignore[assignment]
    return value


def _object_of_pairs(pairs: list[tuple[str, Json | None]]) -> dict[str, Json | None]:
    # Keys that differ only in their lone surrogates become equal; the last of them wins.
    return {str(_replace_surrogates(key)): _replace_surrogates(value) for key, value in pairs}


_STRICT = json.JSONDecoder(parse_int=_integer, parse_float=_double, parse_constant=_no_constant)
_SURROGATES = json.JSONDecoder(
    object_pairs_hook=_object_of_pairs, parse_int=_integer, parse_float=_double, parse_constant=_no_constant
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
