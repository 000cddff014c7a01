"""Opens the Neo4j driver, and translates its errors into headwater's."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import neo4j
from neo4j import exceptions

from headwater_avro.errors import (
    ConfigError,
    HeadwaterError,
    ServerUnavailable,
    StoreBusy,
    StoreExhausted,
    StoreRefused,
    StoreTimedOut,
)
from headwater_graph.settings import GraphSettings

MAX_MESSAGE = 600
"""How many characters of Neo4j's messages are passed on: a syntax error lists all expected tokens before its position."""

_START = "start it (`headwater up` for a local one), or set HEADWATER_NEO4J_URI"


@contextmanager
def connected(settings: GraphSettings) -> Iterator[neo4j.Driver]:
    """Open a driver for the Neo4j of the settings."""
    if settings.uri is None:
        raise ConfigError("no graph is configured: set HEADWATER_NEO4J_URI, or start a local one with `headwater up`")
    auth = (settings.user, settings.password.get_secret_value())
    uri, encryption = settings.uri, _encryption(settings)
    if encryption:
        # The driver takes own authorities only with an address that does not say whom to trust.
        uri = uri.replace("+s://", "://", 1)
    with neo4j.GraphDatabase.driver(
        uri,
        auth=auth,
        connection_timeout=settings.connect_timeout,
        notifications_min_severity="OFF",
        **encryption,
    ) as driver:
        yield driver


def _encryption(settings: GraphSettings) -> dict[str, Any]:
    """Return the driver's options for authorities of one's own; raises ConfigError."""
    if settings.ca is None:
        return {}
    if "+s://" not in str(settings.uri):
        raise ConfigError(
            "HEADWATER_NEO4J_CA: write the address of Neo4j with bolt+s:// or neo4j+s://, else no certificate is verified"
        )
    try:
        # The driver reads the file at its first connection, and its error then does not name it.
        context = ssl.create_default_context(cafile=settings.ca)
    except (OSError, ssl.SSLError) as fault:
        raise ConfigError(f"HEADWATER_NEO4J_CA: {settings.ca} is not a PEM file of authorities ({fault})") from fault
    return {"ssl_context": context}


@contextmanager
def translated(settings: GraphSettings) -> Iterator[None]:
    """Translate the driver's errors into headwater's, by what the caller can do about them.

    Raises ServerUnavailable (wait, or start it), ConfigError (correct the account), StoreExhausted (write smaller portions),
    StoreTimedOut, StoreBusy (try again) or StoreRefused (the statement or its data is wrong).
    """
    try:
        yield
    except exceptions.AuthError as fault:
        raise ConfigError(
            f"Neo4j refuses the account: {_first_line(fault).rstrip('.')}; see HEADWATER_NEO4J_USER and _PASSWORD"
        ) from fault
    except (exceptions.ServiceUnavailable, exceptions.SessionExpired, exceptions.ConfigurationError, OSError) as fault:
        hint = _tls_hint(fault) or f"{_first_line(fault)}; {_START}"
        raise ServerUnavailable("Neo4j", str(settings.uri), hint) from fault
    except exceptions.Neo4jError as fault:
        raise of_code(fault, str(settings.uri)) from fault


def _tls_hint(fault: BaseException) -> str | None:
    """Return what to do if TLS is the reason of an error, else None."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            what = "set HEADWATER_NEO4J_CA to a PEM file with the authority that signed it, and use the name in it"
            return f"its certificate is not trusted ({cause.verify_message}): {what}"
        if isinstance(cause, ssl.SSLError):
            return f"it does not use TLS here ({cause.reason}): write the address with bolt:// or neo4j://"
        cause = cause.__cause__ or cause.__context__
    if "incomplete handshake" in str(fault):
        return "it closed the connection: if it requires TLS, write the address with bolt+s:// or neo4j+s://"
    return None


def of_code(fault: exceptions.Neo4jError, address: str) -> HeadwaterError:
    """Return the error of headwater for an error code of Neo4j."""
    code = fault.code or ""
    if "TransactionTimedOut" in code:
        return StoreTimedOut(f"{code}: {_first_line(fault)}")
    if "OutOfMemory" in code or "LockClientStopped" in code or "Terminated" in code:
        return StoreExhausted(f"{code}: {_first_line(fault)}")
    if "DatabaseUnavailable" in code or "DatabaseNotFound" in code or ".Cluster." in code or "ReadOnly" in code:
        return ServerUnavailable("Neo4j", address, f"{_first_line(fault)}; see its log")
    if code.startswith("Neo.ClientError.Schema.") and "Constraint" not in code:
        return ConfigError(
            f"a part of the graph's schema is missing: run `headwater graph init` ({_first_line(fault)})"
        )
    if code.startswith("Neo.TransientError"):
        return StoreBusy(f"{code}: {_first_line(fault)}")
    if code.startswith("Neo.DatabaseError"):
        return ServerUnavailable("Neo4j", address, f"{_first_line(fault)}; see its log")
    return StoreRefused(f"{code}: {_first_line(fault)}")


def _first_line(fault: Exception) -> str:
    # str() of a Neo4jError begins with its codes, so that truncation would remove the end of the message.
    message = fault.message if isinstance(fault, exceptions.Neo4jError) else str(fault)
    return ((message or "").splitlines() or [type(fault).__name__])[0][:MAX_MESSAGE].rstrip(" :")
