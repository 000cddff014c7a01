"""The error tree of headwater: each class determines what to do next, and the exit code of a process that it ends.

::

    HeadwaterError
    ├── EventRejected      a message cannot be used: dead-letter it with its code (specification 8)      exit code 1
    ├── ConfigError        a wrong flag, setting or file: correct it and start again                    exit code 2
    │   └── SchemaMismatch the graph has the schema of another version of headwater: migrate or upgrade
    ├── ServerUnavailable  a server does not answer: start it or wait, then do the same again           exit code 3
    ├── StoreRefused       the graph refused a write because of its content: bisect it                  exit code 1
    ├── StoreBusy          another transaction conflicts with this one: do the same again               exit code 3
    └── StoreExhausted     the transaction needed more memory or time than the graph allows: do less    exit code 3
        └── StoreTimedOut  it exceeded the time limit

Subclasses elsewhere (a failed stream, a damaged archive, a node that does not exist) inherit the code of their parent
or set their own. Anything else that is raised is a bug.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias, get_args

RejectionCode: TypeAlias = Literal[
    "not_decodable",
    "unknown_schema",
    "not_an_object",
    "not_an_event",
    "missing_identity",
    "bad_identity",
    "bad_event_time",
    "too_large",
    "not_allowed",
    "before_horizon",
    "store_refused",
]
"""The reason codes of specification 8."""

REJECTION_CODES: tuple[RejectionCode, ...] = get_args(RejectionCode)


class HeadwaterError(Exception):
    """The base of all errors of headwater; never raised itself."""

    exit_code: ClassVar[int] = 1
    """The exit code of a process that this error ends: 1 failed or negative, 2 wrong use, 3 a server is unavailable."""


class EventRejected(HeadwaterError):
    """A message cannot be used; ``code`` is a code of specification 8, ``detail`` says what is wrong with the message."""

    def __init__(self, code: RejectionCode, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code: RejectionCode = code
        self.detail = detail

    def __reduce__(self) -> tuple[type[EventRejected], tuple[RejectionCode, str]]:
        return (type(self), (self.code, self.detail))


class ConfigError(HeadwaterError):
    """A setting, flag or file is wrong; the message names all faults and what to write instead."""

    exit_code = 2


class SchemaMismatch(ConfigError):
    """The graph has an older or a newer schema than this version of headwater."""


class ServerUnavailable(HeadwaterError):
    """A server does not answer; ``hint`` says how to start it or where to look."""

    exit_code = 3

    def __init__(self, server: str, address: str, hint: str) -> None:
        super().__init__(f"{server} does not answer at {address}: {hint}")
        self.server = server
        self.address = address
        self.hint = hint

    def __reduce__(self) -> tuple[type[ServerUnavailable], tuple[str, str, str]]:
        return (type(self), (self.server, self.address, self.hint))


class StoreRefused(HeadwaterError):
    """The graph store refused a write because of its content, and would refuse it again if it were repeated."""


class StoreBusy(HeadwaterError):
    """Another transaction conflicts with this one: do the same again."""

    exit_code = 3


class StoreExhausted(HeadwaterError):
    """A transaction needed more memory or time than the graph allows: do the same in smaller parts."""

    exit_code = 3


class StoreTimedOut(StoreExhausted):
    """A transaction exceeded the time limit."""
