"""Graphs for tests, given as runs in order of time and stored in the public model of the graph (docs/cypher.md).

The maker folds runs in the plain case only: each comes after the one before, and all of them have ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import neo4j

from headwater_avro.names import dataset_version_id, initial_version_id, job_version_id
from headwater_graph.model.facet_properties import dataset_properties_of, job_properties_of
from headwater_graph.queries.keys import dataset_node_key, field_node_key, job_node_key, run_node_key
from headwater_graph.store.statements import prepared

START = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Properties = dict[str, Any]


def at_hour(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def moment(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


@dataclass
class GraphMaker:
    """Nodes and edges of one namespace; ``store`` writes them all, and their summaries unless they are not wanted."""

    namespace: str
    summaries: bool = True
    nodes: dict[tuple[str, str], Properties] = field(default_factory=dict)
    edges: dict[tuple[str, str, str, str, str, str], Properties] = field(default_factory=dict)
    _hour: float = 0.0

    def dataset(self, name: str, **properties: Any) -> str:
        key = dataset_node_key(self.namespace, name)
        node = {"key": key, "namespace": self.namespace, "name": name, "facets": "{}"}
        from_facets = dataset_properties_of(properties["facets"]) if "facets" in properties else {}
        self.nodes.setdefault(("Dataset", key), node).update(properties | from_facets)
        return key

    def job(self, name: str, **properties: Any) -> str:
        key = job_node_key(self.namespace, name)
        node = {"key": key, "namespace": self.namespace, "name": name, "facets": "{}"}
        from_facets = job_properties_of(properties["facets"]) if "facets" in properties else {}
        self.nodes.setdefault(("Job", key), node).update(properties | from_facets)
        return key

    def run(
        self,
        job: str,
        reads: Sequence[str] = (),
        writes: Sequence[str] = (),
        *,
        hour: float | None = None,
        run_id: str | None = None,
        state: str = "COMPLETE",
        code: str | None = None,
        inputs: dict[str, list[str]] | None = None,
        unknown: bool = False,
        minutes: float = 10,
        **properties: Any,
    ) -> str:
        """A run that ended at ``hour``; ``inputs`` has for each output the inputs that feed it (specification 6.6)."""
        self._hour = hour = self._hour + 1 if hour is None else hour
        run_id = run_id or f"{self.namespace}-run-{job}-{hour}"
        key, job_of, ended = run_node_key(run_id), self.job(job), at_hour(hour)
        node = {"key": key, "id": run_id, "job": job_of, "state": state, "moment": moment(ended), "tie": run_id}
        node |= {"startedAt": ended - timedelta(minutes=minutes), "endedAt": ended, "lastEventAt": ended}
        self.nodes[("Run", key)] = {**node, **properties}
        self.edge("Run", key, "RUN_OF", "Job", job_of)
        version = self._fold(job, run_id, ended, sorted(reads), sorted(writes), code, inputs, unknown)
        self.edge("Run", key, "RAN", "JobVersion", version)
        for name in reads:
            self._read(name, key, ended)
        for name in writes:
            self._write(name, key, run_id, ended, state)
        return run_id

    def open_run(self, job: str, run_id: str, hour: float, state: str = "RUNNING", **properties: Any) -> str:
        """A batch run that has not ended, with its last event at ``hour``."""
        node: Properties = {"key": run_node_key(run_id), "id": run_id, "job": self.job(job), "state": state}
        node |= {"startedAt": at_hour(hour), "lastEventAt": at_hour(hour), **properties}
        self.nodes[("Run", run_node_key(run_id))] = node
        self.edge("Run", run_node_key(run_id), "RUN_OF", "Job", self.job(job))
        return run_id

    def alias(self, name: str, other: str) -> None:
        self.edge("Dataset", self.dataset(name), "ALIAS_OF", "Dataset", self.dataset(other))

    def child(self, run_id: str, parent: str) -> None:
        key = run_node_key(parent)
        self.nodes.setdefault(("Run", key), {"key": key, "id": parent, "placeholder": True})
        self.edge("Run", run_node_key(run_id), "CHILD_OF", "Run", key)

    def column(self, job: str, source: tuple[str, str], target: tuple[str, str], **properties: Any) -> None:
        """A column edge; the name ``*`` state for the whole dataset."""
        ends = [self._field(*end) for end in (source, target)]
        from_facets = {"job": json.dumps([self.namespace, job], separators=(",", ":")), **properties}
        self.edge("Field", ends[0], "DERIVES", "Field", ends[1], **from_facets)

    def edge(self, label: str, source: str, kind: str, other: str, target: str, **properties: Any) -> None:
        tie = json.dumps(properties, sort_keys=True, default=str) if kind == "DERIVES" else ""
        self.edges[(label, source, kind, other, target, tie)] = properties

    def _field(self, dataset: str, name: str) -> str:
        key = field_node_key(self.namespace, dataset, name)
        self.nodes[("Field", key)] = {"key": key, "namespace": self.namespace, "dataset": dataset, "name": name}
        self.edge("Field", key, "FIELD_OF", "Dataset", self.dataset(dataset))
        return key

    def _fold(
        self,
        job: str,
        run_id: str,
        ended: datetime,
        reads: list[str],
        writes: list[str],
        code: str | None,
        inputs: dict[str, list[str]] | None,
        unknown: bool,
    ) -> str:
        key = self.job(job)
        current = next((e for e in self.edges if e[:3] == ("Job", key, "CURRENT")), None)
        sides = [[self.dataset(name) for name in side] for side in (reads, writes)]
        if current is not None:
            now = self.nodes[("JobVersion", current[4])]
            same = now["sides"] == sides and (code is None or code == now.get("codeVersion"))
            if same:
                now.update(runs=now["runs"] + 1, **self._last_run(run_id))
                return current[4]
            now["validTo"] = ended
            del self.edges[current]
            for edge in [e for e in self.edges if e[2] in ("FEEDS", "PRODUCES") and key in (e[1], e[4])]:
                del self.edges[edge]
        return self._version(job, run_id, ended, sides, code, inputs, unknown)

    def _last_run(self, run_id: str) -> dict[str, Any]:
        run = self.nodes[("Run", run_node_key(run_id))]
        state = {"lastRunState": run["state"], "lastRunStreaming": run.get("streaming")}
        return {"lastRun": run_id, "lastRunAt": run["endedAt"]} | state

    def _version(
        self,
        job: str,
        run_id: str,
        ended: datetime,
        sides: list[list[str]],
        code: str | None,
        inputs: dict[str, list[str]] | None,
        unknown: bool,
    ) -> str:
        key, version = self.job(job), job_version_id((self.namespace, job), run_id)
        node = {"id": version, "job": key, "validFrom": ended, "moment": moment(ended), "tie": run_id, "madeBy": run_id}
        node |= {"runs": 1, **self._last_run(run_id), "sides": sides}
        node |= {"codeVersion": code, "lineageUnknown": unknown or None}
        self.nodes[("JobVersion", version)] = node
        self.edge("Job", key, "HAS_VERSION", "JobVersion", version)
        self.edge("Job", key, "CURRENT", "JobVersion", version)
        from_facets = {"version": version, "since": ended}
        for source in sides[0]:
            self.edge("JobVersion", version, "HAS_INPUT", "Dataset", source)
            self.edge("Dataset", source, "FEEDS", "Job", key, **from_facets)
        for target in sides[1]:
            self.edge("JobVersion", version, "HAS_OUTPUT", "Dataset", target)
            listed = (inputs or {}).get(self.nodes[("Dataset", target)]["name"])
            names = None if listed is None else json.dumps([[self.namespace, name] for name in sorted(listed)])
            self.edge("Job", key, "PRODUCES", "Dataset", target, **from_facets, inputs=names)
        return version

    def _read(self, name: str, run: str, ended: datetime) -> None:
        key = self.dataset(name)
        made_here = {e[4] for e in self.edges if e[:3] == ("Run", run, "WROTE")}
        known = [v for (label, _), v in self.nodes.items() if label == "DatasetVersion" and v["dataset"] == key]
        earlier = [v for v in known if v.get("moment", moment(ended)) < moment(ended) and v["id"] not in made_here]
        version = (
            max(earlier, key=lambda v: v["moment"])["id"] if earlier else initial_version_id((self.namespace, name))
        )
        self.nodes.setdefault(("DatasetVersion", version), {"id": version, "dataset": key})
        self.edge("Dataset", key, "HAS_VERSION", "DatasetVersion", version)
        if not earlier and not any(e[:3] == ("Dataset", key, "CURRENT") for e in self.edges):
            self.edge("Dataset", key, "CURRENT", "DatasetVersion", version)
        self.edge("DatasetVersion", version, "READ_BY", "Run", run, dataset=key, moment=moment(ended))

    def _write(self, name: str, run: str, run_id: str, ended: datetime, state: str) -> None:
        key, version = self.dataset(name), dataset_version_id((self.namespace, name), run_id)
        node = {"id": version, "dataset": key, "at": ended, "moment": moment(ended), "tie": run_id, "madeBy": run_id}
        self.nodes[("DatasetVersion", version)] = {**node, "state": state}
        self.edge("Dataset", key, "HAS_VERSION", "DatasetVersion", version)
        for old in [e for e in self.edges if e[:3] == ("Dataset", key, "CURRENT")]:
            del self.edges[old]
        self.edge("Dataset", key, "CURRENT", "DatasetVersion", version)
        self.edge("Run", run, "WROTE", "DatasetVersion", version)

    def store(self, driver: neo4j.Driver) -> None:
        """Write all nodes, then all edges; safe to call once."""
        with driver.session() as session:
            for label in sorted({label for label, _ in self.nodes}):
                rows = [_plain(node) for (kind, _), node in self.nodes.items() if kind == label]
                session.run(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", rows=rows).consume()
            for shape in sorted({(e[0], e[2], e[3]) for e in self.edges}):
                found = [(e, p) for e, p in self.edges.items() if (e[0], e[2], e[3]) == shape]
                rows = [{"from": e[1], "to": e[4], "properties": _plain(p)} for e, p in found]
                session.run(_edges_text(*shape), rows=rows).consume()
            for label in ("Job", "Dataset") if self.summaries else ():
                rows = [{"key": key} for kind, key in self.nodes if kind == label]
                session.run(*prepared(f"write/set_{label.lower()}_summaries", {"rows": rows})).consume()


def _edges_text(label: str, kind: str, other: str) -> str:
    ends = ["id" if end in ("JobVersion", "DatasetVersion") else "key" for end in (label, other)]
    return (
        f"UNWIND $rows AS row MATCH (a:{label} {{{ends[0]}: row.from}}) MATCH (b:{other} {{{ends[1]}: row.to}}) "
        f"CREATE (a)-[e:{kind}]->(b) SET e = row.properties"
    )


def _plain(properties: Properties) -> Properties:
    return {name: value for name, value in properties.items() if value is not None and name != "sides"}
