"""Settings: where they come from, that all faults are raised at once, and that secrets stay secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater_avro.codec import DEFAULT_DECOMPRESSION, Decompression
from headwater_avro.errors import ConfigError
from headwater_consumer.config import HIDDEN, ConsumerSettings, Loaded, load, read_file

ADDRESSES = {"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "k:9092", "HEADWATER_NEO4J_URI": "bolt://n:7687"}
STACK = {"kafka_bootstrap_servers": "127.0.0.1:1", "neo4j_uri": "bolt://127.0.0.1:2", "neo4j_password": "s3cret"}


def test_only_addresses_are_required() -> None:
    settings = load(environ=ADDRESSES).settings
    assert (settings.kafka_bootstrap_servers, settings.neo4j_uri) == ("k:9092", "bolt://n:7687")
    assert (settings.kafka_topic, settings.dead_letter_topic) == ("lineage.events", "lineage.events.dead")


def test_a_flag_precedes_the_environment_which_precedes_the_file_which_precedes_the_default() -> None:
    environ = ADDRESSES | {"HEADWATER_KAFKA_TOPIC": "environment", "HEADWATER_NEO4J_USER": "environment"}
    file = ("h.toml", {"kafka_topic": "file", "neo4j_user": "file", "neo4j_database": "file"})
    loaded = load(flags={"kafka_topic": "flag", "checkpoint": None}, environ=environ, file=file)
    settings = loaded.settings
    assert (settings.kafka_topic, settings.neo4j_user, settings.neo4j_database) == ("flag", "environment", "file")
    origins = {name: loaded.origins[name] for name in ("kafka_topic", "neo4j_user", "neo4j_database", "checkpoint")}
    assert origins == {
        "kafka_topic": "flag", "neo4j_user": "environment", "neo4j_database": "h.toml", "checkpoint": "default",
    }  # fmt: skip


def test_a_local_stack_is_used_if_no_address_is_set() -> None:
    loaded = load(environ={"HEADWATER_KAFKA_TOPIC": "t"}, stack=STACK)
    assert loaded.settings.neo4j_uri == "bolt://127.0.0.1:2"
    assert loaded.settings.neo4j_password.get_secret_value() == "s3cret"
    assert loaded.origins["kafka_bootstrap_servers"] == "local stack"


def test_a_kafka_that_is_set_leaves_the_neo4j_of_a_local_stack() -> None:
    loaded = load(environ={"HEADWATER_KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, stack=STACK)
    settings = loaded.settings
    assert (settings.kafka_bootstrap_servers, settings.neo4j_uri) == ("k:9092", "bolt://127.0.0.1:2")
    assert settings.neo4j_password.get_secret_value() == "s3cret"
    assert [loaded.origins[name] for name in STACK] == ["environment", "local stack", "local stack"]


def test_the_account_of_a_local_stack_is_never_used_with_an_address_that_is_set() -> None:
    loaded = load(environ={"HEADWATER_NEO4J_URI": "bolt://n:7687"}, stack=STACK)
    settings = loaded.settings
    assert (settings.kafka_bootstrap_servers, settings.neo4j_uri) == ("127.0.0.1:1", "bolt://n:7687")
    assert settings.neo4j_password.get_secret_value() == ""


def test_all_faults_are_reported_together_with_the_origin_of_each_value() -> None:
    environ = {
        "HEADWATER_NEO4J_URI": "bolt://n",
        "HEADWATER_MAX_OFFSETS_PER_TRIGGER": "many",
        "HEADWATER_HTTP_PORT": "70000",
        "HEADWATER_FAIL_ON_DATA_LOSS": "perhaps",
    }
    with pytest.raises(ConfigError) as raised:
        load(environ=environ, file=("h.toml", {"kafka_tpic": "x"}))
    faults = str(raised.value).split("; ")
    assert len(faults) == 5
    assert any("HEADWATER_KAFKA_BOOTSTRAP_SERVERS is not set" in fault for fault in faults)
    assert any(
        "HEADWATER_MAX_OFFSETS_PER_TRIGGER (environment)" in fault and "valid integer" in fault for fault in faults
    )
    assert any("HEADWATER_HTTP_PORT" in fault and "65535" in fault for fault in faults)
    assert any("h.toml has no setting kafka_tpic" in fault for fault in faults)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load(environ=ADDRESSES | {"HEADWATER_KAFKA_TOPIC": ""}).settings.kafka_topic == "lineage.events"


def test_a_command_that_uses_only_neo4j_needs_no_kafka() -> None:
    assert (
        load(environ={"HEADWATER_NEO4J_URI": "bolt://n"}, needs=frozenset({"neo4j"})).settings.neo4j_uri == "bolt://n"
    )


def test_a_file_has_tables_or_plain_names_and_tables_of_other_programs_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(
        'neo4j_user = "u"\n[kafka]\ntopic = "t"\nbootstrap_servers = "k:1"\n[consumer]\nhttp_port = 81\n'
        '[spark]\nconf = {"spark.x" = "1"}\n[emitter]\nanything = 1\n'
    )
    file = read_file({}, tmp_path)
    assert file is not None
    assert file[0] == str(tmp_path / "headwater.toml")
    settings = load(file=file, needs=frozenset({"kafka"})).settings
    assert (settings.kafka_topic, settings.neo4j_user, settings.http_port) == ("t", "u", 81)
    assert settings.spark_conf == {"spark.x": "1"}


def test_a_file_is_optional_but_a_named_file_must_exist_and_be_toml(tmp_path: Path) -> None:
    assert read_file({}, tmp_path) is None
    with pytest.raises(ConfigError, match="No such file"):
        read_file({"HEADWATER_CONFIG": str(tmp_path / "absent.toml")}, tmp_path)
    (tmp_path / "headwater.toml").write_text("[kafka\n")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_file({}, tmp_path)


def test_secrets_are_never_shown() -> None:
    loaded = secret()
    assert "s3cret" not in repr(loaded)
    shown = {setting.name: setting.value for setting in loaded.shown()}
    assert (shown["neo4j_password"], shown["kafka_sasl_password"]) == (HIDDEN, HIDDEN)
    assert all("s3cret" not in str(setting) for setting in loaded.shown())


def test_an_empty_text_in_a_file_is_an_invalid_value() -> None:
    with pytest.raises(ConfigError, match=r"the value should have at least 1 character$"):
        load(environ=ADDRESSES, file=("h.toml", {"kafka_topic": ""}))


NOT_TEXT = ("kafka_security_protocol", "starting_offsets", "http_port", "fail_on_data_loss", "progress_timeout")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, wrong) for name in ConsumerSettings.model_fields for wrong in (["s3cret"], {"a": {"password": "s3cret"}})]
    + [(name, "s3cret") for name in NOT_TEXT],
)
def test_the_value_of_an_invalid_setting_is_not_repeated(name: str, wrong: object) -> None:
    """Any value may be a password that was given to the wrong setting, and errors are logged."""
    variable = "HEADWATER_" + name.upper()
    others = {key: value for key, value in ADDRESSES.items() if key != variable}
    with pytest.raises(ConfigError) as raised:
        load(environ=others, file=("h.toml", {name: wrong}))
    assert str(raised.value).startswith(f"{variable} (h.toml): the value should be ")
    assert "s3cret" not in str(raised.value)


def test_every_setting_is_shown_with_its_variable_and_its_description() -> None:
    shown = list(load(environ=ADDRESSES).shown())
    assert [setting.name for setting in shown] == list(ConsumerSettings.model_fields)
    assert all(setting.description for setting in shown)
    assert shown[0].variable == "HEADWATER_KAFKA_BOOTSTRAP_SERVERS"


def test_spark_settings_are_pairs_in_one_variable() -> None:
    conf = load(environ=ADDRESSES | {"HEADWATER_SPARK_CONF": "spark.a=1,spark.b=x=y"}).settings.spark_conf
    assert conf == {"spark.a": "1", "spark.b": "x=y"}


def test_both_kafka_clients_get_the_security_settings_under_their_own_names() -> None:
    settings = secret().settings
    assert settings.librdkafka() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": 'us"er',
        "sasl.password": "s3cret",
        "ssl.ca.location": "/ca.pem",
    }
    assert settings.java_client() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="us\\"er" password="s3cret";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
    }


def test_without_security_only_the_protocol_is_set() -> None:
    settings = load(environ=ADDRESSES).settings
    assert settings.librdkafka() == settings.java_client() == {"security.protocol": "PLAINTEXT"}


def secret() -> Loaded:
    return load(
        environ=ADDRESSES
        | {
            "HEADWATER_NEO4J_PASSWORD": "s3cret",
            "HEADWATER_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "HEADWATER_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "HEADWATER_KAFKA_SASL_USERNAME": 'us"er',
            "HEADWATER_KAFKA_SASL_PASSWORD": "s3cret",
            "HEADWATER_KAFKA_SSL_CA": "/ca.pem",
        }
    )


def test_the_limits_of_compressed_messages_are_settings() -> None:
    named = {"HEADWATER_MAX_DECOMPRESSED_BYTES": "5000000", "HEADWATER_MAX_DECOMPRESSION_RATIO": "50"}
    assert load(environ=ADDRESSES).settings.decompression() == DEFAULT_DECOMPRESSION
    assert load(environ=ADDRESSES | named).settings.decompression() == Decompression(5_000_000, 50)
    with pytest.raises(ConfigError, match="HEADWATER_MAX_DECOMPRESSION_RATIO"):
        load(environ=ADDRESSES | {"HEADWATER_MAX_DECOMPRESSION_RATIO": "0"})


@pytest.mark.parametrize(
    ("heap", "bytes_at_a_time"),
    [
        ("1g", 100_000_000),
        ("512m", 53_687_091),
        ("2G", 100_000_000),
        ("100000k", 10_240_000),
        ("2gb", 100_000_000),
        ("?", 100_000_000),
    ],
)
def test_no_more_is_read_at_a_time_than_a_tenth_of_the_heap(heap: str, bytes_at_a_time: int) -> None:
    settings = load(environ=ADDRESSES | {"HEADWATER_SPARK_DRIVER_MEMORY": heap}).settings
    assert settings.batch_bytes == bytes_at_a_time
