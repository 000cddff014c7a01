"""What `headwater doctor` shows of settings that hold secrets; no server is needed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from headwater_cli.operations.doctor import doctor

CONF = "spark.hadoop.fs.s3a.secret.key=hunter2,spark.executorEnv.PGPASS=hunter2,spark.sql.shuffle.partitions=8"
JAVA = ",spark.driver.extraJavaOptions=-Djavax.net.ssl.keyStorePassword=hunter2 -Dx=1"


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_doctor_hides_secrets_inside_settings(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_SPARK_CONF", CONF + JAVA)
    monkeypatch.setenv("HEADWATER_NEO4J_URI", "neo4j://user:hunter2@127.0.0.1:1")
    monkeypatch.setenv("HEADWATER_NEO4J_PASSWORD", "hunter2")
    monkeypatch.setenv("HEADWATER_SCHEMA_REGISTRY_URL", "http://user:hunter2@127.0.0.1:1")
    result = CliRunner().invoke(doctor, arguments, standalone_mode=False)
    assert result.exception is None
    assert "hunter2" not in result.output
    assert "neo4j://user:***@127.0.0.1:1" in result.output
    assert "an address holds no account" in result.output
    if arguments:
        shown = {item["name"]: item["value"] for item in json.loads(result.output)["settings"]}
        assert shown["neo4j_password"] == "(hidden)"
        assert shown["spark_conf"] == {
            "spark.hadoop.fs.s3a.secret.key": "***",
            "spark.executorEnv.PGPASS": "***",
            "spark.sql.shuffle.partitions": "8",
            "spark.driver.extraJavaOptions": "-Djavax.net.ssl.keyStorePassword=*** -Dx=1",
        }
