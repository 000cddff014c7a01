"""The parameters of questions: their types in Python, and what each one means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from headwater_graph.queries.answers import Direction, Kind
from headwater_graph.queries.catalog.finding import Wanted
from headwater_graph.queries.catalog.search import KINDS
from headwater_graph.queries.reports.coverage import NAME as COVERAGE
from headwater_graph.queries.reports.reports import REPORTS

from .questions import Given

NAMED_REPORTS = (*REPORTS, COVERAGE)
STATES = ("NEW", "RUNNING", "COMPLETE", "ABORT", "FAIL")

KeyName: TypeAlias = str | tuple[str, str]
"""A name as ``namespace#name``, any unambiguous tail of it, or the pair of namespace and name."""

_NAME = "A dataset or job: `namespace#name`, or any unambiguous tail of its name."
Name: TypeAlias = Annotated[KeyName, Given("name", _NAME)]
Dataset: TypeAlias = Annotated[
    KeyName, Given("name", "A dataset: `namespace#name`, or any unambiguous tail of its name.")
]
Job: TypeAlias = Annotated[KeyName, Given("name", "A job: `namespace#name`, or any unambiguous tail of its name.")]
OfJob: TypeAlias = Annotated[KeyName | None, Given("name", "Only runs of this job.")]
OfDataset: TypeAlias = Annotated[KeyName | None, Given("name", "Only runs that read or wrote this dataset.")]
OfParent: TypeAlias = Annotated[str | None, Given("text", "Only child runs of this run.")]
Source: TypeAlias = Annotated[KeyName, Given("name", "Where the path begins: a dataset or job.", alias="from")]
Target: TypeAlias = Annotated[KeyName, Given("name", "Where the path ends: a dataset or job.", alias="to")]
Columns: TypeAlias = Annotated[
    str | Sequence[str], Given("texts", "Only these columns of the dataset.", alias="column")
]
Run: TypeAlias = Annotated[str, Given("text", "The id of a run, or the beginning of it.", alias="run_id")]
Before: TypeAlias = Annotated[
    str | None, Given("text", "The run to compare with: by default the last COMPLETE one before.")
]
First: TypeAlias = Annotated[str | None, Given("text", "A number or the beginning of an id.", alias="from")]
Last: TypeAlias = Annotated[str | None, Given("text", "A number or the beginning of an id.", alias="to")]
Side: TypeAlias = Annotated[Direction, Given("choice", "Where to go from there.", ("upstream", "downstream"))]
OfKind: TypeAlias = Annotated[Wanted | None, Given("choice", "Whether it is a dataset or a job.", ("dataset", "job"))]
Kinds: TypeAlias = Annotated[
    Kind | Sequence[Kind], Given("choices", "Only nodes of these kinds.", tuple(KINDS), alias="kind")
]
State: TypeAlias = Annotated[
    Literal["NEW", "RUNNING", "COMPLETE", "ABORT", "FAIL"] | None, Given("choice", "Only runs in this state.", STATES)
]
Text: TypeAlias = Annotated[str, Given("text", "A part of a name, or the beginning of the id of a run.")]
ReportName: TypeAlias = Annotated[str, Given("choice", "The name of the report.", NAMED_REPORTS)]
Tag: TypeAlias = Annotated[str | None, Given("text", "The tag of the data: `KEY` or `KEY:VALUE`.")]
Indirect: TypeAlias = Annotated[bool, Given("flag", "Also columns that such data influence.")]
ThroughMasking: TypeAlias = Annotated[str | Sequence[str], Given("texts", "Tags that masking does not end.")]
Version: TypeAlias = Annotated[str, Given("text", "The id of a dataset version.")]
Depth: TypeAlias = Annotated[int | None, Given("depth", "The greatest distance, in jobs.")]
Neighbours: TypeAlias = Annotated[int, Given("count", "The limit on the neighbours of one node.")]
Nodes: TypeAlias = Annotated[int, Given("count", "The limit on the nodes of the answer.")]
Limit: TypeAlias = Annotated[int, Given("count", "The limit on the length of the list.")]
AsOf: TypeAlias = Annotated[datetime | str | None, Given("time", "The graph as it was at this time.")]
ActiveSince: TypeAlias = Annotated[
    datetime | str | None, Given("time", "Leave out jobs of which no run has ended since, and datasets only they use.")
]
Since: TypeAlias = Annotated[datetime | str | None, Given("time", "Only runs with an event at or after this time.")]
Until: TypeAlias = Annotated[datetime | str | None, Given("time", "Only runs with their last event before this time.")]
Silent: TypeAlias = Annotated[bool, Given("flag", "Only batch runs that have not ended and are silent for 24 hours.")]
Past: TypeAlias = Annotated[
    bool, Given("flag", "Go on through the last writer of datasets that no job writes any more.")
]
Query: TypeAlias = Annotated[str, Given("text", "The text of the query, with parameters as $name.")]
Parameters: TypeAlias = Annotated[Mapping[str, Any] | None, Given("values", "The parameters of the query.")]
