"""The settings of the consumer and of every command that connects to Kafka or Neo4j, and the origin of each value.

A setting ``neo4j_uri`` is given as the flag of a command, as HEADWATER_NEO4J_URI in the environment, or in
``headwater.toml`` as ``neo4j_uri = …`` or under ``[neo4j]`` as ``uri = …``. The first of these that has a value applies,
followed by the defaults. A server without an address is that of a running local stack. An empty variable counts as not set.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from headwater_avro.codec import MAX_EVENT_BYTES, MAX_RATIO, Decompression
from headwater_avro.errors import ConfigError
from headwater_avro.registry import RegistrySettings
from headwater_avro.signatures import ProducerKeys, read_keys

PREFIX = "HEADWATER_"
FILE = "headwater.toml"
SECTIONS = ("kafka", "schema_registry", "neo4j", "spark", "consumer")
"""The tables of ``headwater.toml`` that are read here; other programs read other tables."""

Layer: TypeAlias = tuple[str, Mapping[str, Any]]
"""The origin of values, as a text, and the values by setting."""

HIDDEN = "(hidden)"

LOCAL_STACK = "local stack"
"""The origin of settings of servers that `headwater up` has started."""

NOT_SET = "-"
"""The address of a server that is neither needed nor given."""


def _pairs(value: Any) -> Any:
    """Read ``a=1,b=2`` as a mapping."""
    if not isinstance(value, str):
        return value
    return dict(item.split("=", 1) for item in value.split(",") if "=" in item)


_HEAP = re.compile(r"(\d+)([kmgt]?)b?")
"""A size as Java takes it: 900m, 2g."""

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Secret: TypeAlias = SecretStr | None
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=3600)]


class ConsumerSettings(BaseModel):
    """All settings; ``docs/operate.md`` and ``headwater doctor`` describe each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kafka_bootstrap_servers: Text = Field(description="Kafka's addresses, host:port,host:port")
    kafka_topic: Text = Field("lineage.events", description="the topic of events")
    kafka_dead_letter_topic: str | None = Field(None, description="the topic of dead letters (topic + .dead)")
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="security protocol of the connection to Kafka"
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "PLAIN", description="SASL mechanism of the login to Kafka"
    )
    kafka_sasl_username: str | None = Field(None, description="user in Kafka")
    kafka_sasl_password: Secret = Field(None, description="password in Kafka")
    kafka_ssl_ca: Path | None = Field(None, description="PEM file of the authorities that sign Kafka's certificates")
    kafka_ssl_keystore: Path | None = Field(None, description="PEM file with the client certificate and its key")

    schema_registry_url: str | None = Field(
        None, description="address of a schema registry with Confluent's API, for messages framed with a schema id"
    )
    schema_registry_user: str | None = Field(None, description="user in the schema registry")
    schema_registry_password: Secret = Field(None, description="password in the schema registry")
    schema_registry_ca: Path | None = Field(
        None, description="PEM file of the authorities that sign the schema registry's certificate"
    )

    neo4j_uri: Text = Field(description="Neo4j's address, bolt://host:port or neo4j+s://…")
    neo4j_user: Text = Field("neo4j", description="user in Neo4j")
    neo4j_password: SecretStr = Field(SecretStr(""), description="password in Neo4j")
    neo4j_database: Text = Field("neo4j", description="database in Neo4j")
    neo4j_ca: Path | None = Field(None, description="PEM file of the authorities that sign Neo4j's certificate")
    neo4j_connect_timeout: Seconds = Field(5.0, description="seconds for a connection to Neo4j")
    neo4j_read_timeout: Seconds = Field(30.0, description="seconds for a query to Neo4j")
    neo4j_write_timeout: Seconds = Field(120.0, description="seconds for a transaction that writes")

    home: Path = Field(Path("~/.local/share/headwater"), description="folder of headwater's files on this machine")
    checkpoint: str | None = Field(
        None, description="folder or URL of Spark's offsets; if lost, the topic is read again"
    )
    starting_offsets: Literal["earliest", "latest"] = Field("earliest", description="where the first start begins")
    max_offsets_per_trigger: Annotated[int, Field(ge=1)] = Field(
        30_000, description="largest number of messages in a batch"
    )
    max_decompressed_bytes: Annotated[int, Field(ge=1)] = Field(
        MAX_EVENT_BYTES, description="largest size in bytes of a compressed message after decompression"
    )
    max_decompression_ratio: Annotated[int, Field(ge=1)] = Field(
        MAX_RATIO, description="largest ratio of decompressed to compressed size, for messages above 4 MB"
    )
    producer_keys: Path | None = Field(
        None, description="file with the keys of producers; every message must then be signed by one of them"
    )
    max_batch_bytes: Annotated[int, Field(ge=1)] = Field(
        100_000_000, description="bytes of messages that are read at a time; one message is always read"
    )
    trigger_milliseconds: Annotated[int, Field(ge=0)] = Field(
        200, description="minimum time between the starts of two batches"
    )
    fail_on_data_loss: bool = Field(True, description="stop if Kafka has deleted messages that were not read yet")

    topic_was_recreated: bool = Field(
        False, description="read a topic that was deleted and created again from its beginning, instead of stopping"
    )
    progress_timeout: Seconds = Field(300.0, description="seconds without progress after which a batch counts as stuck")
    drain_timeout: Seconds = Field(60.0, description="seconds that a batch under way has to end when asked to stop")

    spark_master: Text = Field("local[*]", description="where Spark runs its tasks")
    spark_driver_memory: Text = Field("1g", description="heap of Spark's driver")
    spark_jars: str | None = Field(None, description="jars of Spark's Kafka source: a folder, or paths with commas")
    spark_conf: Annotated[dict[str, str], BeforeValidator(_pairs)] = Field(
        default_factory=dict, description="more settings of Spark: name=value,name=value"
    )

    http_host: Text = Field("127.0.0.1", description="where /healthz, /readyz and /metrics listen")
    http_port: Annotated[int, Field(ge=0, le=65_535)] = Field(0, description="their port; 0: none")
    log_format: Literal["auto", "text", "json"] = Field("auto", description="auto: text on a terminal, else JSON lines")

    @property
    def dead_letter_topic(self) -> str:
        return self.kafka_dead_letter_topic or f"{self.kafka_topic}.dead"

    @property
    def batch_bytes(self) -> int:
        """Bytes of messages that are read at a time: as set, and no more than a tenth of the heap of Spark's driver."""
        heap = _HEAP.fullmatch(self.spark_driver_memory.lower())
        if heap is None:
            return self.max_batch_bytes
        unit: int = 1024 ** " kmgt".index(heap[2] or " ")
        return max(1, min(self.max_batch_bytes, int(heap[1]) * unit // 10))

    def neo4j(self) -> dict[str, Any]:
        """Return Neo4j's settings by their names in ``headwater_graph.settings``."""
        prefix = "neo4j_"
        names = (name for name in type(self).model_fields if name.startswith(prefix))
        return {name.removeprefix(prefix): getattr(self, name) for name in names}

    def registry(self) -> RegistrySettings | None:
        """Return the settings of the schema registry, None if none is set."""
        if self.schema_registry_url is None:
            return None
        password, ca = _open(self.schema_registry_password), _path(self.schema_registry_ca)
        return RegistrySettings(self.schema_registry_url, self.schema_registry_user, password, ca)

    def decompression(self) -> Decompression:
        """Return the limits of a decompressed message."""
        return Decompression(self.max_decompressed_bytes, self.max_decompression_ratio)

    def keys(self) -> ProducerKeys | None:
        """Return the keys of producers, None if messages need no signature; raises ConfigError."""
        return None if self.producer_keys is None else read_keys(self.producer_keys)

    def librdkafka(self) -> dict[str, str]:
        """Return Kafka's security settings as librdkafka names them."""
        return _without_none(
            {
                "security.protocol": self.kafka_security_protocol,
                "sasl.mechanism": self.kafka_sasl_mechanism if self._uses_sasl else None,
                "sasl.username": self.kafka_sasl_username,
                "sasl.password": _open(self.kafka_sasl_password),
                "ssl.ca.location": _path(self.kafka_ssl_ca),
                "ssl.certificate.location": _path(self.kafka_ssl_keystore),
                "ssl.key.location": _path(self.kafka_ssl_keystore),
            }
        )

    def java_client(self) -> dict[str, str]:
        """Return Kafka's security settings as Kafka's Java client names them."""
        ca, keystore = _path(self.kafka_ssl_ca), _path(self.kafka_ssl_keystore)
        return _without_none(
            {
                "security.protocol": self.kafka_security_protocol,
                "sasl.mechanism": self.kafka_sasl_mechanism if self._uses_sasl else None,
                "sasl.jaas.config": self._jaas() if self._uses_sasl else None,
                "ssl.truststore.type": "PEM" if ca else None,
                "ssl.truststore.location": ca,
                "ssl.keystore.type": "PEM" if keystore else None,
                "ssl.keystore.location": keystore,
            }
        )

    @property
    def _uses_sasl(self) -> bool:
        return self.kafka_security_protocol.startswith("SASL")

    def _jaas(self) -> str:
        kind = "plain.PlainLoginModule" if self.kafka_sasl_mechanism == "PLAIN" else "scram.ScramLoginModule"
        user, password = (_quoted(text or "") for text in (self.kafka_sasl_username, _open(self.kafka_sasl_password)))
        return f"org.apache.kafka.common.security.{kind} required username={user} password={password};"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as ``headwater doctor`` shows it; secrets are hidden."""

    name: str
    value: object
    origin: str
    description: str

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and the origin of each."""

    settings: ConsumerSettings
    origins: Mapping[str, str]

    def shown(self) -> Iterator[Setting]:
        """Yield every setting in the order of the model, secrets hidden."""
        for name, field in ConsumerSettings.model_fields.items():
            value = getattr(self.settings, name)
            shown = HIDDEN if isinstance(value, SecretStr) and value.get_secret_value() else value
            yield Setting(name, _plain(shown), self.origins[name], field.description or "")


def load(
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: tuple[str, Mapping[str, Any]] | None = None,
    stack: Mapping[str, Any] | None = None,
    needs: frozenset[str] = frozenset(("kafka", "neo4j")),
) -> Loaded:
    """Return the settings that these sources give together; raise ConfigError that names every fault.

    ``file`` is a path and the result of ``read_file``; ``stack`` has the settings of a running local stack. Those of Kafka
    are used if no address of Kafka is set otherwise, and those of Neo4j if no address of Neo4j is. Without "kafka" or
    "neo4j" in ``needs``, its address may be absent.
    """
    layers = [layer for layer in _layers(flags or {}, environ or {}, file) if layer[1]]
    layers.append((LOCAL_STACK, _of_unset_servers(stack or {}, layers)))
    values: dict[str, Any] = {}
    origins = dict.fromkeys(ConsumerSettings.model_fields, "default")
    for origin, given in reversed(layers):
        values |= given
        origins |= dict.fromkeys(given, origin)
    absent = {name: NOT_SET for part, name in _ADDRESSES.items() if part not in needs and name not in values}
    origins |= dict.fromkeys(absent, "not set")
    try:
        return Loaded(ConsumerSettings.model_validate(values | absent), origins)
    except ValidationError as fault:
        raise ConfigError(_faults(fault, origins)) from None


_ADDRESSES = {"kafka": "kafka_bootstrap_servers", "neo4j": "neo4j_uri"}


def _of_unset_servers(stack: Mapping[str, Any], layers: list[Layer]) -> dict[str, Any]:
    """Return the settings of the servers of a stack whose addresses no layer has.

    The account of a stack belongs to its address: it is never used with an address that is set.
    """
    unset = [part for part, address in _ADDRESSES.items() if not any(address in values for _, values in layers)]
    return {name: value for name, value in stack.items() if name.partition("_")[0] in unset}


def read_file(environ: Mapping[str, str], folder: Path) -> tuple[str, Mapping[str, Any]] | None:
    """Read the file that HEADWATER_CONFIG names, else ``headwater.toml`` in ``folder`` if there is one.

    Raises ConfigError if it can't be read.
    """
    named = environ.get(PREFIX + "CONFIG")
    path = Path(named) if named else folder / FILE
    if not named and not path.exists():
        return None
    try:
        return (str(path), _flat(tomllib.loads(path.read_text(encoding="utf-8"))))
    except OSError as fault:
        raise ConfigError(f"{path} can't be read: {fault.strerror}") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path} is not TOML: {fault}") from fault


def _flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file: ``[kafka] topic`` means ``kafka_topic``; ``[consumer]`` adds no prefix."""
    found: dict[str, Any] = {name: value for name, value in tables.items() if not isinstance(value, dict)}
    for section in SECTIONS:
        prefix = "" if section == "consumer" else section + "_"
        found |= {prefix + name: value for name, value in tables.get(section, {}).items()}
    return found


def _layers(
    flags: Mapping[str, Any], environ: Mapping[str, str], file: tuple[str, Mapping[str, Any]] | None
) -> Iterator[Layer]:
    yield ("flag", {name: value for name, value in flags.items() if value is not None})
    names = {PREFIX + name.upper(): name for name in ConsumerSettings.model_fields}
    yield ("environment", {names[key]: value for key, value in environ.items() if key in names and value})
    if file is not None:
        yield file


def _faults(fault: ValidationError, origins: Mapping[str, str]) -> str:
    return "; ".join(_fault(error, origins) for error in fault.errors(include_url=False, include_context=False))


def _fault(error: Any, origins: Mapping[str, str]) -> str:
    name = str(error["loc"][0])
    variable, origin = PREFIX + name.upper(), origins.get(name, "default")
    if error["type"] == "missing":
        return f"{variable} is not set (or start the local servers: `headwater up`)"
    if error["type"] == "extra_forbidden":
        return f"{origins.get(name, 'the file')} has no setting {name}"
    # Not the value itself: errors are logged, and any value may be a password that was given to the wrong setting.
    expected = "be a path" if error["type"] == "path_type" else re.sub("^(Input|String) should ", "", error["msg"])
    return f"{variable} ({origin}): the value should {expected}"


def _open(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None


def _path(path: Path | None) -> str | None:
    return str(path) if path is not None else None


def _plain(value: object) -> object:
    match value:
        case SecretStr():
            return ""
        case Path():
            return str(value)
        case _:
            return value


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _without_none(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
