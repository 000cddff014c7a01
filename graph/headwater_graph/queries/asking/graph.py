"""``Graph``: every question about the graph as a method. Commands, HTTP paths and the tools of agents have the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwater_avro.errors import ConfigError
from headwater_graph.queries.answers import Kind, Node
from headwater_graph.queries.catalog.entity import Entity, entity
from headwater_graph.queries.catalog.finding import Wanted, find_run
from headwater_graph.queries.catalog.search import KINDS, search, search_similar
from headwater_graph.queries.fields.operations import OperationsAnswer, field_operations, find_field
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.component import component
from headwater_graph.queries.lineage.impact import impact
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.path import path
from headwater_graph.queries.presentation.catalog_texts import entity_lines, version_diff_lines
from headwater_graph.queries.presentation.formats import plain
from headwater_graph.queries.presentation.operation_texts import operations_text
from headwater_graph.queries.presentation.overview_texts import overview_lines
from headwater_graph.queries.presentation.run_texts import diff_lines, run_lines
from headwater_graph.queries.reports.coverage import NAME as COVERAGE
from headwater_graph.queries.reports.coverage import coverage
from headwater_graph.queries.reports.exposure import ExposureQuery, exposure
from headwater_graph.queries.reports.overview import Overview, overview
from headwater_graph.queries.reports.reports import REPORTS, report
from headwater_graph.queries.runs.history import (
    DatasetVersionLine,
    JobVersionLine,
    dataset_versions,
    job_versions,
    two_versions,
    version_diff,
)
from headwater_graph.queries.runs.run_columns import find_version, version_columns
from headwater_graph.queries.runs.run_diff import RunDiff, last_complete_run, run_diff
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.runs.runs import RunDetails, RunFilter, RunLine, list_runs, show_run
from headwater_graph.queries.times import given_time

from .answers import Details, GraphAnswer, Lineage, Listing
from .base import GraphBase, terms
from .listings import cypher_rows, found_nodes, report_rows, run_list, version_list
from .parameters import (
    NAMED_REPORTS,
    ActiveSince,
    AsOf,
    Before,
    Columns,
    Dataset,
    Depth,
    First,
    Indirect,
    Job,
    Kinds,
    Last,
    Limit,
    Name,
    Neighbours,
    Nodes,
    OfDataset,
    OfJob,
    OfKind,
    OfParent,
    Parameters,
    Past,
    Query,
    ReportName,
    Run,
    Side,
    Silent,
    Since,
    Source,
    State,
    Tag,
    Target,
    Text,
    ThroughMasking,
    Until,
    Version,
)
from .questions import Question, question, questions_of

MOST_VERSIONS = 10_000
"""How many of the latest versions of a job are searched for the two to compare."""


class Graph(GraphBase):
    """The lineage graph, to be read: each public method is a question. A context manager that closes its connections.

    Names are `namespace#name`, an unambiguous tail of it, or a pair; times are datetimes or texts such as ``2026-01-31`` or
    ``2d`` (ago). All questions raise NotFound for what the graph does not have, ConfigError for an ambiguous name or a wrong
    parameter, and ServerUnavailable. ``most`` has the greatest limits that a question may have here.
    """

    @question(commands=("search",), paths=("/search",))
    def find(self, text: Text, *, kinds: Kinds = (), limit: Limit = 20) -> Listing[Node]:
        """Find datasets, jobs and columns whose name contains a text, and runs whose id begins with it.

        If there are none, datasets and jobs whose name contains it with one typing error.
        """
        wanted: tuple[Kind, ...] = (kinds,) if isinstance(kinds, str) else tuple(kinds) or KINDS
        found = search(self._reader, text, wanted, limit + 1)
        return found_nodes(found or search_similar(self._reader, text, wanted, limit + 1), limit)

    @question(commands=("lineage upstream",), paths=("/lineage/{direction}",))
    def upstream(
        self,
        name: Name,
        *,
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
        as_of: AsOf = None,
        active_since: ActiveSince = None,
        past: Past = False,
    ) -> Lineage:
        """Show what feeds a dataset or job: the jobs that write it, what they read, and so on."""
        scope = self._scope(depth, neighbours, nodes, as_of, active_since, past)
        return Lineage(lineage(self._reader, self._node(name), "upstream", self._clock(), scope))

    @question(commands=("lineage downstream",), paths=("/lineage/{direction}",))
    def downstream(
        self,
        name: Name,
        *,
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
        as_of: AsOf = None,
        active_since: ActiveSince = None,
    ) -> Lineage:
        """Show what a dataset or job feeds: the jobs that read it, what they write, and so on."""
        scope = self._scope(depth, neighbours, nodes, as_of, active_since)
        return Lineage(lineage(self._reader, self._node(name), "downstream", self._clock(), scope))

    @question(commands=("lineage upstream --columns", "lineage downstream --columns"), paths=("/columns/{direction}",))
    def columns(
        self,
        name: Dataset,
        columns: Columns = (),
        *,
        direction: Side = "upstream",
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
        active_since: ActiveSince = None,
    ) -> Lineage:
        """Show the columns from which columns of a dataset are derived, or that are derived from them; without columns of all."""
        scope = self._scope(depth, neighbours, nodes, None, active_since)
        dataset, wanted = find_field(self._reader, terms(name), _texts(columns))
        found = column_lineage(self._reader, dataset, direction, wanted, scope.limits, scope.active_since)
        return Lineage(found)

    @question(commands=("lineage impact",), paths=("/lineage/impact",))
    def impact(
        self,
        name: Name,
        columns: Columns = (),
        *,
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
        as_of: AsOf = None,
        active_since: ActiveSince = None,
    ) -> Lineage:
        """Show what a change of a dataset, job or column affects, nearest first, with owners and last runs."""
        scope = self._scope(depth, neighbours, nodes, as_of, active_since)
        if columns and scope.as_of:
            raise ConfigError("the graph has current column lineage only: leave out as_of")
        start = self._node(name, ("dataset",)) if columns else self._node(name)
        found = impact(self._reader, start, self._clock(), columns=_texts(columns), scope=scope)
        return Lineage(found, is_list=True)

    @question(commands=("lineage path",), paths=("/lineage/path",))
    def path(
        self,
        source: Source,
        target: Target,
        *,
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
        as_of: AsOf = None,
        active_since: ActiveSince = None,
    ) -> Lineage:
        """Show a shortest path by which data flows from one dataset or job to another; no nodes if there is none."""
        scope = self._scope(depth, neighbours, nodes, as_of, active_since)
        return Lineage(path(self._reader, self._node(source), self._node(target), self._clock(), scope))

    @question(commands=("lineage component",), paths=("/lineage/component",))
    def component(
        self, name: Name, *, nodes: Nodes = 5_000, as_of: AsOf = None, active_since: ActiveSince = None
    ) -> Lineage:
        """Show all that is connected with a dataset or job, in either direction."""
        scope = self._scope(self._most.depth, min(1_000, self._most.neighbours), nodes, as_of, active_since)
        return Lineage(component(self._reader, self._node(name), self._clock(), scope))

    @question(commands=("lineage upstream --operations",), paths=("/operations",))
    def operations(
        self, name: Dataset, columns: Columns = (), *, depth: Depth = 10, nodes: Nodes = 5_000
    ) -> Details[OperationsAnswer]:
        """Show the operations that made columns of a dataset, as its last runs reported them, and those of their sources."""
        dataset, wanted = find_field(self._reader, terms(name), _texts(columns))
        limits = self._limits(depth, min(1_000, self._most.neighbours), nodes)
        found = field_operations(self._reader, dataset, wanted, limits)
        return Details(found, found.value(), tuple(operations_text(found).splitlines()), tuple(found.value()["steps"]))

    @question(commands=("run list",), paths=("/runs",))
    def runs(
        self,
        *,
        job: OfJob = None,
        dataset: OfDataset = None,
        parent: OfParent = None,
        state: State = None,
        silent: Silent = False,
        since: Since = None,
        until: Until = None,
        limit: Limit = 50,
    ) -> Listing[RunLine]:
        """List runs, in the order of their last events, the latest first."""
        if silent and (state or until):
            raise ConfigError("silent implies state and time: leave out state and until")
        now = self._clock()
        wanted = RunFilter(
            job=None if job is None else self._node(job, ("job",)).key,
            dataset=None if dataset is None else self._node(dataset, ("dataset",)).key,
            parent=None if parent is None else find_run(self._reader, parent).key,
            state=state,
            since=given_time(since, now),
            until=given_time(until, now),
            silent=silent,
        )
        return run_list(list_runs(self._reader, wanted, now, limit + 1), limit)

    @question(commands=("run show",), paths=("/runs/{run_id}",))
    def run(self, run: Run) -> Details[RunDetails]:
        """Show one run: its state and error, the dataset versions that it read and wrote, its children and its facets."""
        found = show_run(self._reader, find_run(self._reader, run), self._clock())
        sides = (("reads", found.reads), ("writes", found.writes))
        table = tuple({"side": side} | use.value() for side, uses in sides for use in uses)
        return Details(found, found.value(), tuple(run_lines(found, False, plain)), table)

    @question(commands=("run graph",), paths=("/runs/{run_id}/lineage/{direction}",))
    def run_graph(
        self,
        run: Run,
        *,
        direction: Side = "upstream",
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
    ) -> Lineage:
        """Show which dataset versions a run read and which runs made them, back to the sources; or who read what it wrote."""
        limits = self._limits(depth, neighbours, nodes)
        return Lineage(run_graph(self._reader, find_run(self._reader, run), direction, self._clock(), limits))

    @question(commands=("run diff",), paths=("/runs/{run_id}/diff",))
    def run_diff(self, run: Run, before: Before = None) -> Details[RunDiff]:
        """Show what differs between two runs, such as a failed one and the last one of its job that was COMPLETE."""
        last = find_run(self._reader, run)
        first = last_complete_run(self._reader, last) if before is None else find_run(self._reader, before)
        found = run_diff(self._reader, first, last, self._clock())
        changes = (*found.facts, *found.read_versions, *found.settings)
        table = tuple(dict(zip(("what", "before", "after"), change, strict=True)) for change in changes)
        return Details(found, found.value(), tuple(diff_lines(found, plain)), table)

    @question(commands=("run columns",), paths=("/versions/{version}/columns/{direction}",))
    def run_columns(
        self,
        version: Version,
        columns: Columns,
        *,
        direction: Side = "upstream",
        depth: Depth = 10,
        neighbours: Neighbours = 1_000,
        nodes: Nodes = 5_000,
    ) -> Lineage:
        """Show the columns from which runs made columns of a dataset version, or those that runs made of them."""
        limits = self._limits(depth, neighbours, nodes)
        start = find_version(self._reader, version)
        return Lineage(version_columns(self._reader, start, direction, _texts(columns), limits))

    @question(commands=("dataset show", "job show"), paths=("/{kind}s/show",))
    def show(self, name: Name, *, kind: OfKind = None, active_since: ActiveSince = None) -> Details[Entity]:
        """Show a dataset or job: the jobs that write and read it, or the datasets that it reads and writes, and its facets."""
        now = self._clock()
        found = entity(self._reader, self._node(name, _kinds(kind)), now, given_time(active_since, now))
        sides = (("upstream", found.upstream), ("downstream", found.downstream), ("alias", found.aliases))
        table = [(side, node) for side, nodes in sides for node in nodes]
        records = tuple({"side": side, "kind": n.kind, "namespace": n.name[0], "name": n.name[1]} for side, n in table)
        return Details(found, found.value(), tuple(entity_lines(found, False, plain)), records)

    @question(commands=("dataset versions", "job versions"), paths=("/{kind}s/versions",))
    def versions(
        self, name: Name, *, kind: OfKind = None, limit: Limit = 50
    ) -> Listing[DatasetVersionLine] | Listing[JobVersionLine]:
        """List the versions of a dataset with runs, readers and changes of the schema, or of a job with their reasons."""
        node = self._node(name, _kinds(kind))
        if node.kind == "job":
            jobs = job_versions(self._reader, node, limit)
            return version_list(jobs, more=bool(jobs) and not jobs[-1].oldest)
        datasets = dataset_versions(self._reader, node, limit + 1)
        return version_list(datasets[:limit], more=len(datasets) > limit)

    @question(commands=("job diff",), paths=("/jobs/diff",))
    def job_diff(
        self, name: Job, first: First = None, last: Last = None
    ) -> Details[tuple[JobVersionLine, JobVersionLine]]:
        """Show what differs between two versions of a job, by default the current one and the one before it."""
        two = two_versions(job_versions(self._reader, self._node(name, ("job",)), MOST_VERSIONS), first, last)
        whole = version_diff(*two)
        changes = tuple({"change": change} for change in whole["changes"])
        return Details(two, whole, tuple(version_diff_lines(*two)), changes)

    @question(commands=("report",), paths=("/reports", "/reports/{name}"))
    def report(
        self, name: ReportName, *, limit: Limit = 100, active_since: ActiveSince = None
    ) -> Listing[tuple[str | int, ...]]:
        """Report what is missing or unusual: silent runs, jobs without lineage, datasets that nobody reads, and so on."""
        now = self._clock()
        if name == COVERAGE:
            return report_rows(coverage(self._reader, limit))
        if name not in REPORTS:
            raise ConfigError(f"there is no report {name!r}: the reports are {', '.join(NAMED_REPORTS)}")
        return report_rows(report(self._reader, name, now, limit, active_since=given_time(active_since, now)))

    @question(commands=("report --tag",), paths=("/reports/exposure",))
    def exposure(
        self,
        tag: Tag = None,
        *,
        indirect: Indirect = False,
        through_masking: ThroughMasking = (),
        limit: Limit = 100,
        active_since: ActiveSince = None,
    ) -> Listing[tuple[str | int, ...]]:
        """Report columns that hold data with a tag, or with any, and are not tagged, the nearest first, with one way there."""
        since = given_time(active_since, self._clock())
        query = ExposureQuery(tag, indirect, frozenset(_texts(through_masking)), since)
        return report_rows(exposure(self._reader, query, limit))

    @question(commands=("overview",), paths=("/overview",))
    def overview(self) -> Details[Overview]:
        """Show how much is in the graph, the latest, failed and silent runs, and the jobs that have changed."""
        found = overview(self._reader, self._clock())
        lines, records = tuple(overview_lines(found, plain)), tuple(line.value() for line in found.latest)
        return Details(found, found.value(), lines, records)

    @question(commands=("cypher",), paths=("/cypher",))
    def cypher(self, query: Query, parameters: Parameters = None, *, limit: Limit = 1_000) -> Listing[dict[str, Any]]:
        """Query the graph in Cypher, in a transaction that can only read."""
        if self._cypher is None:
            raise ConfigError("Cypher is disabled here")
        rows = min(limit, self._cypher.rows)
        return cypher_rows(self._cypher.within(rows).run(query, dict(parameters or {})))

    def ask(self, question: str, **given: Any) -> GraphAnswer:
        """Return the answer to a question by its name; raises ConfigError if there is none."""
        if question not in {each.name for each in QUESTIONS}:
            raise ConfigError(f"there is no question {question!r}: {', '.join(each.name for each in QUESTIONS)}")
        answer: GraphAnswer = getattr(self, question)(**given)
        return answer


QUESTIONS: tuple[Question, ...] = questions_of(Graph)
"""Every question about the graph."""


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _kinds(kind: Wanted | None) -> tuple[Wanted, ...]:
    return ("dataset", "job") if kind is None else (kind,)
