"""How closely a name matches a text, and names that differ from it by one typing error."""

from __future__ import annotations

import re

SEPARATORS = (".", "/", "_", "-", " ", ":", "#", "$", "@", "(", "[", "=")
"""Characters after which a word begins."""

SHORTEST, LONGEST = 4, 64
"""The lengths of a text in which typing errors are considered: a shorter one is similar to too many names."""

_PART_SEPARATORS = (".", "/")

WHOLE, LAST_PART, WORD, MIDDLE, TYPING_ERROR = range(5)


def match_rank(name: str, text: str) -> int:
    """Return how closely a name matches a text, 0 the closest; both in lower case.

    0: the text is the whole name. 1: the last part of the name (after a dot or slash) begins with it; a text with several parts
    begins further ahead, and ends in the last part. 2: a word of the name begins with it. 3: it is anywhere in the name.
    4: it is not in the name, so it can only be there with a typing error.

    >>> [match_rank("db.sales_orders", text) for text in ("db.sales_orders", "db.sal", "orders", "ales", "orderz")]
    [0, 1, 2, 3, 4]
    """
    if name == text:
        return WHOLE
    if text not in name:
        return TYPING_ERROR
    if any(_ends_in_last_part(each + name, each + text) for each in _PART_SEPARATORS):
        return LAST_PART
    is_word = name.startswith(text) or any(each + text in name for each in SEPARATORS)
    return WORD if is_word else MIDDLE


def _ends_in_last_part(name: str, text: str) -> bool:
    rest = name.split(text)
    return len(rest) > 1 and not any(each in rest[-1] for each in _PART_SEPARATORS)


def intact_parts(text: str) -> list[list[str]]:
    """Return lists of parts of a text: a name that contains it with one typing error contains all parts of one list.

    The text is divided into three. An error within a part leaves the two others; two characters exchanged across a boundary
    leave the text with these exchanged.
    """
    first, second = len(text) // 3, len(text) - len(text) // 3
    parts = text[:first], text[first:second], text[second:]
    pairs = [[parts[0], parts[1]], [parts[0], parts[2]], [parts[1], parts[2]]]
    return pairs + [[_exchanged(text, boundary - 1)] for boundary in (first, second)]


def one_error_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a text with one typing error: a character replaced, missing, too many, or two exchanged.

    >>> pattern = one_error_pattern("orders")
    >>> [bool(pattern.search(name)) for name in ("db.ordrs", "oorders", "odrers", "orbers", "ordr", "boarder")]
    [True, True, True, True, False, False]
    """
    length = range(len(text))
    forms = [_pattern(text[:i], text[i + 1 :]) for i in length]
    forms += [_pattern(text[:i], text[i:]) for i in length if i]
    forms += [re.escape(text[:i] + text[i + 1 :]) for i in length]
    forms += [re.escape(_exchanged(text, i)) for i in length[:-1]]
    return re.compile("|".join(forms), re.DOTALL)


def _pattern(before: str, after: str) -> str:
    return f"{re.escape(before)}.{re.escape(after)}"


def _exchanged(text: str, at: int) -> str:
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
