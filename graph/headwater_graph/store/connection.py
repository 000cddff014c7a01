"""The one place where the Neo4j driver is opened and its errors become headwater's."""

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

MAX_TOLD = 600
"""How much of what Neo4j says is passed on: a syntax error lists all that could stand there before it tells where."""

_START = "start it (`headwater up` for a local one), or set HEADWATER_NEO4J_URI"


@contextmanager
def connected(settings: GraphSettings) -> Iterator[neo4j.Driver]:
    """Open a driver to the Neo4j that the settings name."""
    if settings.uri is None:
        raise ConfigError("no graph is named: set HEADWATER_NEO4J_URI, or start a local one with `headwater up`")
    auth = (settings.user, settings.password.get_secret_value())
    with neo4j.GraphDatabase.driver(
        settings.uri, auth=auth, connection_timeout=settings.connect_timeout, notifications_min_severity="OFF"
    ) as driver:
        yield driver


@contextmanager
def translated(settings: GraphSettings) -> Iterator[None]:
    """Turn the driver's errors into headwater's, by what is to be done next.

    Raises ServerUnavailable (wait or start it), ConfigError (the account is wrong), StoreExhausted (smaller portions),
    StoreBusy (again) or StoreRefused (what was written is at fault).
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
        return ConfigError(f"the graph lacks a part of its schema: run `headwater graph init` ({_first_line(fault)})")
    if code.startswith("Neo.TransientError"):
        return StoreBusy(f"{code}: {_first_line(fault)}")
    if code.startswith("Neo.DatabaseError"):
        return ServerUnavailable("Neo4j", address, f"{_first_line(fault)}; see its log")
    return StoreRefused(f"{code}: {_first_line(fault)}")


def _first_line(fault: Exception) -> str:
    # The text of a Neo4jError wraps its message in its codes, over which the message would be cut.
    told = fault.message if isinstance(fault, exceptions.Neo4jError) else str(fault)
    return ((told or "").splitlines() or [type(fault).__name__])[0][:MAX_TOLD].rstrip(" :")
