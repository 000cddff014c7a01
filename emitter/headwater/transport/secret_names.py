"""Which names are names of secrets; pure.

A name is taken apart into its words (``spark.db.userPassword``: spark, db, user, password). It is that of a secret if
one of them always is (*password*, *secret*), or if its first or last word often is (*token*, *pass*). The last word may
say that it is something else: ``token_count``, ``password_file``.
"""

from __future__ import annotations

import functools
import itertools
import re
from enum import IntEnum


class Secrecy(IntEnum):
    """How sure a name is that of a secret: a number named ``pass`` is none, one named ``password`` is."""

    NONE = 0
    LIKELY = 1
    SURE = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_SURE = _words(
    "password passwd passwords passphrase passwort pwd pswd secret secrets credential credentials creds jaas "
    "apikey accesskey accountkey privatekey sharedkey storagekey encryptionkey signingkey masterkey secretkey "
    "accesstoken authtoken refreshtoken sessiontoken bearertoken oauthtoken securitytoken idtoken"
)
_LIKELY = _words("pass token cred auth authorization sig signature sas")
_KEYS = _words("api access account private shared storage encryption signing master secret")
_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "secrets",
    "token",
    "creds",
    "credentials",
    "apikey",
)
_NO_ENDS = _words("compass bypass encompass overpass surpass trespass underpass impasse")
_SOMETHING_ELSE = _words(
    "age algorithm arn at callback changed class column columns count counts created enabled encoder encoding endpoint "
    "expiration expires expiry field file filename format grace handler hint history index interval lag len length "
    "lifetime limit location max method min mode name names pattern path pct percent percentage policy prompt provider rate "
    "ratio required reset retries retry rotation rule score size status store strength timeout timestamp ttl type types "
    "updated uri url usage user username valid validity version yards"
)
_LIKELY_ELSE = _words("id ids no number num key keys hash group scope scopes")


@functools.lru_cache(maxsize=4096)
def secrecy(name: str) -> Secrecy:
    """How sure what has this name is a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _SOMETHING_ELSE:
        return Secrecy.NONE
    if any(word in _SURE for word in words) or _has_key(words):
        return Secrecy.SURE
    if words[-1] in _LIKELY or (words[0] in _LIKELY and words[-1] not in _LIKELY_ELSE and words[0] != "auth"):
        return Secrecy.LIKELY
    if any(_ends_as_secret(word) for word in words):
        return Secrecy.SURE
    return Secrecy.NONE


def _has_key(words: list[str]) -> bool:
    return any(word == "key" and before in _KEYS for before, word in itertools.pairwise(words))


def _ends_as_secret(word: str) -> bool:
    return word.endswith(_ENDS) and word not in _NO_ENDS
