"""Events that state metadata of a job or dataset outside of any run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headwater_avro.names import Key
from headwater_avro.times import format_time, micros_of

_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"


def job_event(producer: str, job: Key, time: datetime, facets: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JobEvent that states facets of a job."""
    named = {"namespace": job[0], "name": job[1], "facets": dict(facets)}
    return {**_head(producer, time, "JobEvent"), "job": named}


def dataset_event(producer: str, dataset: Key, time: datetime, facets: Mapping[str, Any]) -> dict[str, Any]:
    """Return a DatasetEvent that states facets of a dataset."""
    named = {"namespace": dataset[0], "name": dataset[1], "facets": dict(facets)}
    return {**_head(producer, time, "DatasetEvent"), "dataset": named}


def retiring_event(producer: str, job: Key, time: datetime, reason: str | None = None) -> dict[str, Any]:
    """Return the JobEvent that removes a job from the current graph (specification 3.6)."""
    facet = {"_producer": producer, "_schemaURL": f"{producer}#headwater_retired"}
    facet |= {"reason": reason} if reason else {}
    return job_event(producer, job, time, {"headwater_retired": facet})


def dropping_event(producer: str, dataset: Key, time: datetime) -> dict[str, Any]:
    """Return the DatasetEvent after which a dataset is dropped until it is written again (specification 7.1)."""
    facet = {"_producer": producer, "_schemaURL": f"{producer}#lifecycleStateChange", "lifecycleStateChange": "DROP"}
    return dataset_event(producer, dataset, time, {"lifecycleStateChange": facet})


def _head(producer: str, time: datetime, kind: str) -> dict[str, Any]:
    return {"eventTime": format_time(micros_of(time)), "producer": producer, "schemaURL": f"{_SCHEMA}/{kind}"}
