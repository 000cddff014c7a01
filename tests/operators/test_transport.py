"""Events of operators through headwater's transport, without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.operators import OperatorRunner
from headwater.transport import HeadwaterConfig, HeadwaterTransport
from headwater.transport.spool import claim, segments

from .plain_operators import Plain


class Careless(Plain):
    """Puts a connection into its facets, as they come."""

    def get_openlineage_facets_on_complete(self, ti: Any) -> Any:
        connection = {"host": "db", "password": "s3cret", "extra": {"api_key": "s3cret", "deep": [{"token": "s3cret"}]}}
        return {
            "runFacets": {"etl_connection": {**connection, "_producer": "urn:password:of-etl"}},
            "jobFacets": {"sql": {"query": "create user ada identified by 's3cret'"}},
            "inputs": [
                {"namespace": "postgres://ada:s3cret@db:5432", "name": "password", "facets": {"etl_c": connection}}
            ],
        }


@pytest.mark.parametrize("isolation", ["thread", "fork"])
def test_no_secret_leaves_and_names_stay(tmp_path: Path, isolation: str) -> None:
    transport = HeadwaterTransport(HeadwaterConfig(spool_dir=str(tmp_path)))
    runner = OperatorRunner("etl", sink=transport, isolation=isolation)
    run_id = runner.run(Careless()).run_ids[0]
    runner.listener.close(10)
    texts = [
        message.value
        for path in segments(tmp_path, ".spool")
        if (segment := claim(path))
        for message in segment.messages()
    ]
    assert b"s3cret" not in b"".join(texts)
    events = {event["eventType"]: event for event in map(json.loads, texts)}
    assert set(events) == {"START", "COMPLETE"}
    complete = events["COMPLETE"]
    facet = complete["run"]["facets"]["etl_connection"]
    assert (facet["host"], facet["password"], facet["_producer"]) == ("db", "***", "urn:password:of-etl")
    assert facet["extra"] == {"api_key": "***", "deep": [{"token": "***"}]}
    assert complete["run"]["runId"] == run_id
    assert complete["inputs"][0]["name"] == "password"
