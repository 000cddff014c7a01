"""Opens the Neo4j driver, and translates its errors into headwater's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
    with neo4j.GraphDatabase.driver(
        settings.uri, auth=auth, connection_timeout=settings.connect_timeout, notifications_min_severity="OFF"
    ) as driver:
        yield driver


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
        raise ServerUnavailable("Neo4j", str(settings.uri), f"{_first_line(fault)}; {_START}") from fault
    except exceptions.Neo4jError as fault:
        raise of_code(fault, str(settings.uri)) from fault


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
