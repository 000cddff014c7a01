"""Which names are names of secrets; pure.

A name is split into its parts (``spark.db.userPassword``: spark, db, user, password). It is the name of a secret if a
part always names one (*password*, *secret*), or if its first or last part often does (*token*, *pass*). The last part may
name something else: ``token_count``, ``password_file``.
"""

from __future__ import annotations

import functools
import itertools
import re
from enum import IntEnum


class Secrecy(IntEnum):
    """How certain it is that a name is the name of a secret: a number named ``pass`` is not one, ``password`` is."""

    NONE = 0
    LIKELY = 1
    SURE = 2


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_SURE = _set(
    "password passwd passwords passphrase passwort pwd pswd secret secrets credential credentials creds jaas "
    "apikey accesskey accountkey privatekey sharedkey storagekey encryptionkey signingkey masterkey secretkey "
    "accesstoken authtoken refreshtoken sessiontoken bearertoken oauthtoken securitytoken idtoken"
)
_LIKELY = _set("pass token cred auth authorization sig signature sas")
_KEYS = _set("api access account private shared storage encryption signing master secret")
_ENDS = tuple(_set("password passwd passphrase pass pwd secret secrets token creds credentials apikey"))
_NO_ENDS = _set("compass bypass encompass overpass surpass trespass underpass impasse")
_SOMETHING_ELSE = _set(
    "age algorithm arn at callback changed class column columns count counts created enabled encoder encoding endpoint "
    "expiration expires expiry field file filename format grace handler hint history index interval lag len length "
    "lifetime limit location max method min mode name names pattern path pct percent percentage policy prompt provider rate "
    "ratio required reset retries retry rotation rule score size status store strength timeout timestamp ttl type types "
    "updated uri url usage user username valid validity version yards"
)
_LIKELY_ELSE = _set("id ids no number num key keys hash group scope scopes")


@functools.lru_cache(maxsize=4096)
def secrecy(name: str) -> Secrecy:
    """Return how certain it is that values with this name are secrets."""
    parts = [part.lower() for part in _PART.findall(name)]
    if not parts or parts[-1] in _SOMETHING_ELSE:
        return Secrecy.NONE
    if any(part in _SURE for part in parts) or _has_key(parts):
        return Secrecy.SURE
    if parts[-1] in _LIKELY or (parts[0] in _LIKELY and parts[-1] not in _LIKELY_ELSE and parts[0] != "auth"):
        return Secrecy.LIKELY
    if any(part.endswith(_ENDS) and part not in _NO_ENDS for part in parts):
        return Secrecy.SURE
    return Secrecy.NONE


def _has_key(parts: list[str]) -> bool:
    return any(part == "key" and before in _KEYS for before, part in itertools.pairwise(parts))
