"""Names of datasets as ``spark.openlineage.dataset.*`` changes them: namespace resolvers and the removal of path parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..datasets.facets import Facet
from ..datasets.names import DatasetName
from ..datasets.tables import Dataset, merged
from .configuration import OfficialConfiguration, items, java_pattern

_REMOVED = "remove"


@dataclass(frozen=True, slots=True)
class NamespaceResolver:
    """What replaces a part of a namespace: a fixed name, or what a group of the pattern matches; ``schema`` restricts it."""

    pattern: re.Pattern[str]
    name: str
    group: str | None = None
    schema: str = ""

    def resolve(self, namespace: str) -> str:
        """Return the namespace with the parts that the pattern matches replaced."""
        found = self.pattern.search(namespace)
        if found is None or (self.schema and not namespace.startswith(f"{self.schema}://")):
            return namespace
        name = self.name if self.group is None else found.group(self.group) or ""
        return self.pattern.sub(lambda _: name, namespace)


@dataclass(frozen=True, slots=True)
class DatasetNames:
    """The changes of dataset names; the first resolver that changes a namespace decides."""

    resolvers: tuple[NamespaceResolver, ...] = ()
    removed: re.Pattern[str] | None = None

    @classmethod
    def of(cls, official: OfficialConfiguration) -> DatasetNames:
        """Return the changes that ``dataset.namespaceResolvers`` and ``dataset.removePath.pattern`` describe."""
        removed = official.parsed("dataset.removePath.pattern", _removal, None)
        return cls(tuple(_resolvers(official)), removed)

    def name(self, namespace: str, name: str) -> DatasetName:
        """Return the key that a dataset has in events."""
        resolved = next((new for r in self.resolvers if (new := r.resolve(namespace)) != namespace), namespace)
        found = None if self.removed is None else self.removed.search(name)
        if found is not None and found.group(_REMOVED):
            name = name[: found.start(_REMOVED)] + name[found.end(_REMOVED) :]
        return DatasetName(resolved, name)

    def applied(self, datasets: tuple[Dataset, ...]) -> tuple[Dataset, ...]:
        """Return the datasets under their names in events; those that get the same name are merged."""
        if not self.resolvers and self.removed is None:
            return datasets
        return merged(map(self._renamed, datasets))

    def _renamed(self, dataset: Dataset) -> Dataset:
        namespace, name = self.name(*dataset.key)
        found = dict(dataset.facets)
        if "dataSource" in found and found["dataSource"].get("name") == dataset.namespace:
            found["dataSource"] = {**found["dataSource"], "name": namespace, "uri": namespace}
        if "columnLineage" in found:
            found["columnLineage"] = self._columns(found["columnLineage"])
        return replace(dataset, namespace=namespace, name=name, facets=found)

    def _columns(self, facet: Facet) -> Facet:
        fields = {
            column: {**entry, "inputFields": self._sources(entry.get("inputFields", ()))}
            for column, entry in facet.get("fields", {}).items()
        }
        whole = {"dataset": self._sources(facet["dataset"])} if "dataset" in facet else {}
        return {**facet, "fields": fields, **whole}

    def _sources(self, sources: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**s, **self.name(s["namespace"], s["name"])._asdict()} for s in sources]


def _removal(text: str) -> re.Pattern[str]:
    pattern = java_pattern(text)
    if _REMOVED not in pattern.groupindex:
        raise ValueError(f"has no group (?<{_REMOVED}>...)")
    return pattern


def _resolvers(official: OfficialConfiguration) -> Iterable[NamespaceResolver]:
    prefix = "dataset.namespaceResolvers."
    for name in dict.fromkeys(
        key.removeprefix(prefix).rpartition(".")[0] for key in official.entries if key.startswith(prefix)
    ):
        try:
            found = _resolver(official, f"{prefix}{name}.", name)
        except ValueError as fault:
            official.refuse(f"{prefix}{name}", str(fault))
        else:
            yield found


def _resolver(official: OfficialConfiguration, prefix: str, name: str) -> NamespaceResolver:
    kind = official.text(f"{prefix}type")
    schema = official.text(f"{prefix}schema") or ""
    if kind == "hostList":
        hosts = items(official.text(f"{prefix}hosts") or "")
        if not hosts:
            raise ValueError("has no hosts")
        return NamespaceResolver(re.compile("|".join(map(re.escape, hosts)), re.IGNORECASE), name, schema=schema)
    if kind not in ("pattern", "patternGroup"):
        raise ValueError("its type must be hostList, pattern or patternGroup")
    pattern = java_pattern(official.text(f"{prefix}regex") or "")
    if not pattern.pattern:
        raise ValueError("has no regex")
    if kind == "pattern":
        return NamespaceResolver(pattern, name, schema=schema)
    group = official.text(f"{prefix}matchingGroup") or ""
    if group not in pattern.groupindex:
        raise ValueError("its regex has no group of the name in matchingGroup")
    return NamespaceResolver(pattern, name, group, schema)
