"""The error tree of headwater: each class says what to do next.

::

    HeadwaterError
    ├── EventRejected      a message that can't be used: dead-letter it, with its code, and go on  (SPEC 8)
    ├── ConfigError        a wrong flag, setting or file: correct it and start again               (exit code 2)
    ├── ServerUnavailable  a server does not answer: start it or wait, then do the same again      (exit code 3)
    └── StoreRefused       the graph refused this very write: it will refuse it again; bisect it   (SPEC 8)

Anything else that is raised is a bug.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

RejectionCode: TypeAlias = Literal[
    "not_decodable",
    "unknown_schema",
    "not_an_object",
    "not_an_event",
    "missing_identity",
    "bad_identity",
    "bad_event_time",
    "too_large",
    "before_horizon",
    "store_refused",
]
"""The reason codes of SPEC 8."""

REJECTION_CODES: tuple[RejectionCode, ...] = get_args(RejectionCode)


class HeadwaterError(Exception):
    """What every error of headwater is; never raised itself."""


class EventRejected(HeadwaterError):
    """A message can't be used; ``code`` is one of SPEC 8's, ``detail`` says what is wrong with this one."""

    def __init__(self, code: RejectionCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: RejectionCode = code
        self.detail = detail

    def __reduce__(self) -> tuple[type[EventRejected], tuple[RejectionCode, str]]:
        return (type(self), (self.code, self.detail))


class ConfigError(HeadwaterError):
    """A setting, flag or file is wrong; the message names all faults found and what to write instead."""


class OtherSchema(ConfigError):
    """The graph has an older or a newer schema than this headwater's."""


class ServerUnavailable(HeadwaterError):
    """A server does not answer; ``hint`` says how to start it or where to look."""

    def __init__(self, server: str, address: str, hint: str) -> None:
        super().__init__(f"{server} does not answer at {address}: {hint}")
        self.server = server
        self.address = address
        self.hint = hint

    def __reduce__(self) -> tuple[type[ServerUnavailable], tuple[str, str, str]]:
        return (type(self), (self.server, self.address, self.hint))


class StoreRefused(HeadwaterError):
    """The graph store refused a write because of what is in it, and would refuse it again."""
