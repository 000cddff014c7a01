"""Which facets events have, and the layout of columnLineage: ``spark.openlineage.facets.*`` and ``columnLineage.*``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...producer import Container
from ..datasets import facets
from ..datasets.facets import Facet
from ..datasets.tables import Dataset
from .configuration import OfficialConfiguration, items

Facets = dict[str, Facet]

_SWITCH = re.compile(r"facets\.(?P<facet>.+)\.disabled")
_MADE_ON_REQUEST = ("debug", "spark.logicalPlan")


@dataclass(frozen=True, slots=True)
class FacetRules:
    """The facets that are left out of all events, those that are made on request, and the form of columnLineage."""

    disabled: frozenset[str] = frozenset()
    requested: frozenset[str] = frozenset()
    dataset_lineage: bool = True
    most_columns: int | None = None

    @classmethod
    def of(cls, official: OfficialConfiguration) -> FacetRules:
        """Return the rules of ``facets.<name>.disabled``, ``facets.disabled``, ``debugFacet`` and ``columnLineage.*``."""
        switches = [match for key in official.entries if (match := _SWITCH.fullmatch(key)) is not None]
        flags = {match["facet"]: official.flag(match[0], False) for match in switches}
        if flags.get("spark_unknown") is False:
            official.refuse("facets.spark_unknown.disabled", "headwater has no such facet")
        listed = items(official.text("facets.disabled") or "")
        requested = {name for name in _MADE_ON_REQUEST if flags.get(name) is False}
        if (official.text("debugFacet") or "").lower() == "enabled":
            requested.add("debug")
        return cls(
            frozenset(listed) | {name for name, is_disabled in flags.items() if is_disabled},
            frozenset(requested),
            official.flag("columnLineage.datasetLineageEnabled", True),
            official.parsed("columnLineage.schemaSizeLimit", _count, None),
        )

    def enabled(self, found: Mapping[str, Facet]) -> Facets:
        """Return the facets that are not disabled."""
        return {name: facet for name, facet in found.items() if name not in self.disabled}

    def applied(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the facets that events have."""
        found = self.enabled(dataset.facets)
        columns = len(found.get("schema", {}).get("fields", ()))
        if self.most_columns is not None and columns > self.most_columns:
            found.pop("columnLineage", None)
        if not self.dataset_lineage and "dataset" in found.get("columnLineage", {}):
            found["columnLineage"] = _on_every_column(found["columnLineage"])
        return replace(dataset, facets=found, run_facets=self.enabled(dataset.run_facets))


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("must be a whole number")
    return int(text)


def _on_every_column(facet: Facet) -> Facet:
    """Return a columnLineage facet whose entries for the whole dataset are repeated in each column."""
    shared = facet["dataset"]
    fields = {
        column: {**entry, "inputFields": _combined([*entry.get("inputFields", ()), *shared])}
        for column, entry in facet.get("fields", {}).items()
    }
    return {**{name: value for name, value in facet.items() if name != "dataset"}, "fields": fields}


def _combined(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for source in sources:
        key = (source["namespace"], source["name"], source["field"])
        first = found.get(key)
        known = [] if first is None else first["transformations"]
        more = [kind for kind in source.get("transformations", ()) if kind not in known]
        found[key] = {**source, "transformations": [*known, *more]}
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Descriptions:
    """What the configuration says of a run and its job: tags, owners, and variables of the environment."""

    run: Mapping[str, Facet] = field(default_factory=dict)
    job: Mapping[str, Facet] = field(default_factory=dict)

    @classmethod
    def of(cls, official: OfficialConfiguration, environ: Mapping[str, str]) -> Descriptions:
        """Return the facets of ``run.tags``, ``job.tags``, ``job.owners.<type>`` and ``facets.variables``."""
        run, job = _tags(official.text("run.tags"), "run"), _tags(official.text("job.tags"), "job")
        owners = [{"name": name, "type": kind} for kind, name in sorted(official.under("job.owners.").items())]
        if owners:
            job["ownership"] = facets.facet("job", "ownership", owners=owners)
        variables = {name: environ[name] for name in items(official.text("facets.variables") or "") if name in environ}
        if variables:
            name = "environment-properties"
            run[name] = facets.custom(**{name: variables})
        return cls(run, job)


def _tags(text: str | None, container: Container) -> Facets:
    """Return the tags facet of ``key``, ``key:value`` or ``key:value:source``, separated by semicolons."""
    found = []
    for entry in items(text or ""):
        key, value, source, *_ = [*(part.strip() for part in entry.split(":", 2)), "", ""]
        if key:
            found.append({"key": key, "value": value or "true", "source": source or "CONFIG"})
    return {"tags": facets.facet(container, "tags", tags=found)} if found else {}
