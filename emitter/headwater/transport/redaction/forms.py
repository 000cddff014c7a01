"""Secrets that are recognised by their own form, in any context; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """A form of secret: ``pattern`` is tried where ``hint`` occurs; its group ``s``, or else the match, is the secret."""

    hint: str
    pattern: re.Pattern[str]


def _form(hint: str, pattern: str) -> Form:
    return Form(hint, re.compile(pattern))


_AWS = r"[0-9A-Z]{16}(?![0-9A-Za-z])(?:[\s:,/;|]{1,3}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?"
_GITHUB = r"[A-Za-z0-9]{16,255}"

FORMS: tuple[Form, ...] = (
    _form("AKIA", rf"(?<!\w)AKIA{_AWS}"),
    _form("ASIA", rf"(?<!\w)ASIA{_AWS}"),
    *(_form(f"gh{kind}_", rf"(?<![A-Za-z0-9])gh{kind}_{_GITHUB}") for kind in "pousr"),
    _form("github_pat_", r"github_pat_\w{16,255}"),
    *(_form(f"gl{kind}-", rf"(?<!\w)gl{kind}-[\w-]{{16,255}}") for kind in ("pat", "ptt", "dt", "rt")),
    # A digit distinguishes a key from words with hyphens.
    _form("sk-", r"(?<![\w-])sk-(?=[\w-]{0,200}\d)[\w-]{20,255}"),
    _form("_live_", r"(?<=[srp]k)_live_[0-9A-Za-z]{16,255}"),
    _form("_test_", r"(?<=[sr]k)_test_[0-9A-Za-z]{16,255}"),
    _form("AIza", r"(?<!\w)AIza[\w-]{30,100}"),
    _form("ya29.", r"(?<!\w)ya29\.[\w-]{20,1000}"),
    _form("xox", r"(?<!\w)xox[abeoprs]-[\w-]{10,255}"),
    _form("xapp-", r"(?<!\w)xapp-[\w-]{10,255}"),
    _form("hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[\w/-]{8,255})"),
    _form("/api/webhooks/", r"/api/webhooks/(?P<s>\d{5,30}/[\w-]{8,255})"),
    _form(".webhook.office.com/", r"\.webhook\.office\.com/\w{1,20}/(?P<s>[\w@/-]{8,500})"),
    _form("dapi", r"(?<!\w)dapi[0-9a-f]{32}(?:-\d)?(?!\w)"),
    _form("npm_", r"(?<!\w)npm_[A-Za-z0-9]{30,100}"),
    _form("hf_", r"(?<!\w)hf_[A-Za-z0-9]{30,100}"),
    _form("pypi-", r"(?<!\w)pypi-[\w-]{50,500}"),
    _form("SG.", r"(?<!\w)SG\.[\w-]{16,100}\.[\w-]{16,100}"),
    _form("eyJ", r"(?<!\w)eyJ[\w-]{10,4000}\.[\w-]{10,4000}(?:\.[\w-]{0,4000}){1,3}"),
)

PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
"""The beginning of a private key, which extends to the line that begins with ``-----END``."""
PRIVATE_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
LONGEST_PRIVATE_KEY = 20_000
