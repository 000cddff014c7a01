"""A node class of the tests, which makes its facets as the seed of the extension API does."""

from __future__ import annotations

from typing import Any

from headwater.spark import DatasetIdentifier, LogicalPlan, OutputDatasetWithIdentifier


class Write:
    """Lineage of Spark's own command that writes files."""

    def __init__(self, view: LogicalPlan) -> None:
        self.view = view

    def get_outputs(self, context: Any) -> list[Any]:
        ol = context.open_lineage
        facets = (
            ol.DatasetFacetsBuilder()
            .lifecycle_state_change(ol.new_lifecycle_state_change_dataset_facet(ol.LifecycleStateChange.ALTER, None))
            .version(ol.new_dataset_version_dataset_facet("7"))
        )
        of_run = ol.OutputDatasetOutputFacetsBuilder().put("acme", {"rows": 99})
        path = str(self.view.fields["outputPath"])
        return [OutputDatasetWithIdentifier(facets, of_run, identifier=DatasetIdentifier("file", path))]
