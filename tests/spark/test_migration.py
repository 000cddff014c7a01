"""Settings of the official Spark integration (``migrated.py``), obeyed in real sessions."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import headwater_stack

from ..servers import Servers
from ..transport.events import arrived

pytestmark = pytest.mark.end_to_end

Event = dict[str, Any]
WRITE = "execute_insert_into_hadoop_fs_relation_command"


class Requests(ThreadingHTTPServer):
    """A server that accepts events; ``received`` has the path, the headers and the event of each request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[str, dict[str, str], Event]] = []


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        assert isinstance(self.server, Requests)
        self.server.received.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(201)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


class Outcome:
    """What the applications left behind: files of events, requests, messages, and the log."""

    def __init__(self, folder: Path, log: str, requests: Requests, messages: list[Event]) -> None:
        self.folder, self.requests, self.messages = folder, requests.received, messages
        parts = log.split("application ")[1:]
        self.logs = {part.split("\n", 1)[0]: part for part in parts}

    def events(self, name: str) -> list[Event]:
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]

    def end(self, name: str) -> Event:
        """The last event of the run that reads and writes."""
        (found,) = [
            e for e in self.events(name) if e["eventType"] == "COMPLETE" and e["outputs"] and e["inputs"]
            and e["outputs"][0]["name"].endswith("/out")
        ]  # fmt: skip
        return found


@pytest.fixture(scope="module")
def outcome(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    folder, topic = tmp_path_factory.mktemp("migrated"), f"test-{uuid.uuid4()}"
    headwater_stack.make_topics(servers.kafka_bootstrap_servers, {topic: 2})
    requests = Requests()
    thread = threading.Thread(target=requests.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{requests.server_address[1]}"
    arguments = [str(folder), address, servers.kafka_bootstrap_servers, topic]
    command = [sys.executable, "-m", "tests.spark.migrated", *arguments]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("OPENLINEAGE")}
    here = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=here, env=environ)
    assert done.returncode == 0, done.stderr[-4000:]
    messages = [json.loads(value) for _, value in arrived(servers.kafka_bootstrap_servers, topic, 12)]
    yield Outcome(folder, done.stderr, requests, messages)
    requests.shutdown()
    requests.server_close()
    thread.join()


def kinds(events: list[Event]) -> list[str]:
    return [f"{event['eventType']} {event['job']['name']}" for event in events]


def test_the_kafka_transport_of_the_configuration_sends_to_its_topic(outcome: Outcome) -> None:
    written = [kind for kind in sorted(kinds(outcome.messages)) if WRITE in kind]
    assert written == [
        f"COMPLETE to_kafka.{WRITE}.in_batch-1",
        f"COMPLETE to_kafka.{WRITE}.to_kafka_other",
        f"COMPLETE to_kafka.{WRITE}.to_kafka_out",
        f"FAIL to_kafka.{WRITE}.to_kafka_failed",
        f"START to_kafka.{WRITE}.in_batch-1",
        f"START to_kafka.{WRITE}.to_kafka_failed",
        f"START to_kafka.{WRITE}.to_kafka_other",
        f"START to_kafka.{WRITE}.to_kafka_out",
    ]
    assert {"START to_kafka", "COMPLETE to_kafka"} <= set(kinds(outcome.messages))


def test_one_warning_names_the_settings_without_effect_and_no_values(outcome: Outcome) -> None:
    def warned(name: str) -> list[str]:
        return [line for line in outcome.logs[name].splitlines() if "no effect" in line]

    (kafka,) = warned("to_kafka")
    assert kafka.endswith(
        "lineage: spark.openlineage.transport.messageKey, spark.openlineage.transport.properties.interceptor.classes"
    )
    (facets,) = warned("facets")
    removal = "dataset.removePath.pattern (has no group (?<remove>...))"
    names = ("circuitBreaker.type", removal, "timeout.buildDatasetsTimePercentage")
    assert facets.endswith("lineage: " + ", ".join(f"spark.openlineage.{name}" for name in names))
    assert not [name for name in outcome.logs if name not in ("to_kafka", "facets") and warned(name)]
    assert not [log for log in outcome.logs.values() if "hunter2" in log or "com.acme" in log]


def test_the_http_transport_of_the_configuration_has_its_headers_and_parameters(outcome: Outcome) -> None:
    assert kinds([event for _, _, event in outcome.requests])[0] == "START to_http"
    assert kinds([event for _, _, event in outcome.requests])[-1] == "COMPLETE to_http"
    assert {path for path, _, _ in outcome.requests} == {"/api/v1/lineage?team=shop"}
    headers = [{name.lower(): value for name, value in headers.items()} for _, headers, _ in outcome.requests]
    assert {(each["authorization"], each["x-team"]) for each in headers} == {("Bearer hunter2", "finance")}


def test_the_console_transport_of_the_configuration_logs_events(outcome: Outcome) -> None:
    lines = [line[line.index("{") :] for line in outcome.logs["to_console"].splitlines() if '"eventType"' in line]
    found = kinds([json.loads(line) for line in lines])
    assert (found[0], found[-1]) == ("START to_console", "COMPLETE to_console")


def test_a_composite_transport_sends_to_all_and_one_that_fails_does_not_stop_the_others(outcome: Outcome) -> None:
    first, second = (kinds(outcome.events(f"composite_{part}")) for part in "ab")
    assert first == second
    assert (first[0], first[-1]) == ("START composite", "COMPLETE composite")


def test_names_of_application_parent_and_run_are_those_of_the_configuration(outcome: Outcome) -> None:
    events = outcome.events("names")
    assert {event["job"]["namespace"] for event in events} == {"prod"}
    assert events[0]["job"]["name"] == "nightly_load"
    assert events[0]["run"]["runId"] == "0190f5c8-0000-7000-8000-00000000000a"
    parent = events[0]["run"]["facets"]["parent"]
    assert parent["job"] == {"namespace": "airflow", "name": "dag.task"}
    assert outcome.end("names")["run"]["facets"]["parent"]["run"]["runId"] == events[0]["run"]["runId"]


def test_tags_owners_and_variables_are_facets_of_every_event(outcome: Outcome) -> None:
    for event in outcome.events("names"):
        run, job = event["run"]["facets"], event["job"]["facets"]
        assert run["tags"]["tags"] == [{"key": "set", "value": "up", "source": "SERVICE"}]
        assert [(tag["key"], tag["value"]) for tag in job["tags"]["tags"]] == [("nightly", "true"), ("tier", "gold")]
        assert job["ownership"]["owners"] == [{"name": "Finance", "type": "team"}]
        assert run["environment-properties"]["environment-properties"] == {"TEAM": "finance"}


def test_datasets_have_resolved_namespaces_and_names_without_the_removed_part(outcome: Outcome) -> None:
    end = outcome.end("names")
    (read,), (written,) = end["inputs"], end["outputs"]
    assert (read["namespace"], read["name"]) == ("lake", f"{outcome.folder}/names/in")
    assert written["namespace"] == "lake"
    (source,) = written["facets"]["columnLineage"]["fields"]["id"]["inputFields"]
    assert (source["namespace"], source["name"]) == (read["namespace"], read["name"])
    assert [s["name"] for s in written["facets"]["columnLineage"]["dataset"]] == [read["name"]]


def test_rdd_jobs_have_no_events_where_the_configuration_says_so(outcome: Outcome) -> None:
    def types(name: str) -> set[str]:
        return {event["job"]["facets"]["jobType"]["jobType"] for event in outcome.events(name)}

    assert types("composite_a") == {"APPLICATION", "SQL_JOB", "RDD_JOB"}
    assert types("names") == {"APPLICATION", "SQL_JOB"}


def test_disabled_facets_are_in_no_event_and_requested_ones_are(outcome: Outcome) -> None:
    events = outcome.events("facets")
    assert not [event for event in events if "processing_engine" in event["run"]["facets"]]
    datasets = [dataset for event in events for dataset in (*event["inputs"], *event["outputs"])]
    assert datasets
    assert not [dataset for dataset in datasets if {"schema", "dataSource"} & set(dataset["facets"])]
    debug = outcome.end("facets")["run"]["facets"]["debug"]
    assert debug["classpath"]["sparkVersion"].count(".") == 2
    assert debug["logicalPlan"]["nodes"][0]["desc"].endswith("InsertIntoHadoopFsRelationCommand")


def test_what_shapes_all_rows_is_in_each_column_where_the_configuration_says_so(outcome: Outcome) -> None:
    facet = outcome.end("facets")["outputs"][0]["facets"]["columnLineage"]
    assert "dataset" not in facet
    found = {(s["field"], how["subtype"]) for s in facet["fields"]["id"]["inputFields"] for how in s["transformations"]}
    assert found == {("id", "IDENTITY"), ("amount", "FILTER")}


def test_job_names_are_made_as_the_configuration_says(outcome: Outcome) -> None:
    assert outcome.end("facets")["job"]["name"] == f"facets_{WRITE}"


def test_an_application_with_lineage_disabled_emits_nothing(outcome: Outcome) -> None:
    assert not (outcome.folder / "disabled.jsonl").exists()
    assert (outcome.folder / "disabled" / "out").is_dir()


def test_an_application_that_is_one_job_has_one_run_with_all_its_datasets(outcome: Outcome) -> None:
    events = outcome.events("one_job")
    assert {(event["run"]["runId"], event["job"]["name"]) for event in events} == {
        (events[0]["run"]["runId"], "one_job")
    }
    assert [events[0]["eventType"], events[-1]["eventType"]] == ["START", "COMPLETE"]
    assert {event["eventType"] for event in events[1:-1]} == {"RUNNING", "OTHER"}
    written = {dataset["name"].rpartition("/")[2] for event in events for dataset in event["outputs"]}
    assert written == {"batch-1", "out", "other", "failed", "text"}
    assert not [
        event for event in events if {"sql", "errorMessage"} & {*event["run"]["facets"], *event["job"]["facets"]}
    ]
    counted = [
        d["outputFacets"]["outputStatistics"]["rowCount"] for e in events for d in e["outputs"] if "outputFacets" in d
    ]
    assert 3 in counted


def test_the_parts_of_one_job_state_which_input_feeds_which_output(outcome: Outcome) -> None:
    entries = [
        entry
        for event in outcome.events("one_job")
        for entry in event["job"]["facets"].get("lineage", {}).get("entries", ())
    ]
    fed = {
        entry["name"].rpartition("/")[2]: [i["name"].rpartition("/")[2] for i in entry["inputs"]] for entry in entries
    }
    assert fed == {"batch-1": [], "out": ["batch-1"], "other": [], "failed": ["batch-1"], "text": ["batch-1"]}


def test_job_names_are_without_what_the_patterns_match(outcome: Outcome) -> None:
    names = {event["job"]["name"] for event in outcome.events("dated")}
    assert {"load", f"load.{WRITE}.in", f"load.{WRITE}.dated_out"} <= names
    assert (
        outcome.events("dated")[0]["run"]["facets"]["spark_applicationDetails"]["appName"] == "Load 2026-01-31 run-42"
    )


def written(outcome: Outcome, name: str, output: str) -> list[Event]:
    return [e for e in outcome.events(name) if any(d["name"].endswith(output) for d in e["outputs"])]


def test_a_builder_of_file_scans_is_applied_in_sql_executions(outcome: Outcome) -> None:
    end = written(outcome, "extended", "/extended/out")[-1]
    source = f"{outcome.folder}/extended/in/batch-1"
    found = [
        (dataset["namespace"], dataset["name"].removeprefix("file:").replace("///", "/")) for dataset in end["inputs"]
    ]
    assert found == [("file", source), ("acme", source)]


def test_a_facet_that_the_program_registers_is_on_the_run_that_follows(outcome: Outcome) -> None:
    noted = [e for e in outcome.events("extended") if "acme_note" in e["run"]["facets"]]
    assert len(noted) == 1
    assert noted[0]["outputs"][0]["name"].endswith("/other")


def test_a_run_has_the_group_description_and_call_site_of_its_job(outcome: Outcome) -> None:
    for name, output in (("facets", "/facets/out"), ("extended", "/extended/text")):
        facet = written(outcome, name, output)[-1]["run"]["facets"]["spark_jobDetails"]
        assert (facet["jobGroup"], facet["jobDescription"]) == ("night", "two words")
        assert " at " in facet["jobCallSite"]
