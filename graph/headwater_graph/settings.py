"""Address, account and timeouts of Neo4j: ``HEADWATER_NEO4J_*``, or the table ``[neo4j]`` of ``headwater.toml``."""

from __future__ import annotations

import os
import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from headwater_avro.errors import ConfigError, ServerUnavailable

from .local_stack import default_home, neo4j_of_stack

SETTINGS_FILE = "headwater.toml"
"""The settings file in the current folder; HEADWATER_CONFIG can name another file."""

NO_ADDRESS = "HEADWATER_NEO4J_URI is not set and no local stack runs: `headwater up` starts one"

_FLAT = "neo4j_"
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def _bolt_address(uri: str) -> str:
    if "@" in uri:
        # Not repeated here and below: errors are logged, and the value may have a password, or be one.
        raise ValueError("an address holds no account: write it without, and set HEADWATER_NEO4J_USER and _PASSWORD")
    scheme, separator, host = uri.partition("://")
    if not separator or scheme not in _SCHEMES or not host:
        raise ValueError(f"not an address of Neo4j: write {_SCHEMES[0]}://host:7687 (or {', '.join(_SCHEMES[1:])})")
    return uri


class GraphSettings(BaseSettings):
    """Address, account and timeouts of the Neo4j that holds the graph (in seconds).

    ``uri`` is None if no address is configured; commands use the local stack then. ``ca`` is a PEM file with the authorities
    that sign its certificate, instead of the system's.
    """

    model_config = SettingsConfigDict(
        env_prefix="HEADWATER_NEO4J_", env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    uri: Annotated[str, AfterValidator(_bolt_address)] | None = None
    user: str = "neo4j"
    password: SecretStr = SecretStr("")
    database: str = "neo4j"
    ca: Path | None = None
    connect_timeout: float = Field(default=5.0, gt=0, le=600)
    read_timeout: float = Field(default=30.0, gt=0, le=3600)
    write_timeout: float = Field(default=120.0, gt=0, le=3600)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings, _Neo4jTable(settings_cls))


class _Neo4jTable(TomlConfigSettingsSource):
    """The settings of Neo4j in the settings file: ``uri`` in the table ``[neo4j]``, or ``neo4j_uri``; others are ignored."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls, Path(os.environ.get("HEADWATER_CONFIG") or SETTINGS_FILE))

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        values = super()._read_file(file_path)
        table = values.get("neo4j", {})
        flat = {name.removeprefix(_FLAT): value for name, value in values.items() if name.startswith(_FLAT)}
        return flat | (table if isinstance(table, dict) else {})


def graph_settings(**given: object) -> GraphSettings:
    """Return the settings of the graph; ``given`` ones override the environment's, and those override the file's.

    Raises ConfigError, which lists all faults.
    """
    try:
        return GraphSettings(**given)  # type: ignore[arg-type]
    except ValidationError as faults:
        raise ConfigError("\n".join(_sentence(fault) for fault in faults.errors())) from None


def located_settings(**given: object) -> GraphSettings:
    """Return the settings of the graph, with the address and account of the local stack if no address is set.

    These are the settings that the command line finds. Raises ConfigError, and ServerUnavailable if there is no address.
    """
    found = _of_readable_file(**given)
    if found.uri is not None:
        return found
    stack = neo4j_of_stack(default_home())
    if not stack:
        raise ServerUnavailable("Neo4j", "any known address", NO_ADDRESS)
    unset = {name: value for name, value in stack.items() if name not in found.model_fields_set}
    return graph_settings(**given, **unset)


def _of_readable_file(**given: object) -> GraphSettings:
    named = os.environ.get("HEADWATER_CONFIG")
    try:
        if named:
            Path(named).read_bytes()
        return graph_settings(**given)
    except OSError as fault:
        raise ConfigError(f"{named or SETTINGS_FILE} can't be read: {fault.strerror}") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{named or SETTINGS_FILE} is not TOML: {fault}") from fault


def _sentence(fault: Any) -> str:
    name = "_".join(str(part) for part in fault["loc"]).upper()
    return f"HEADWATER_NEO4J_{name}: {fault['msg'].removeprefix('Value error, ')}"
