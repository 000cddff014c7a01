"""Names of jobs, as ``spark.openlineage.jobName.*`` changes them."""

from __future__ import annotations

from dataclasses import dataclass

from .configuration import OfficialConfiguration


@dataclass(frozen=True, slots=True)
class JobNames:
    """How the names of jobs are made of their parts."""

    appends_dataset: bool = True
    replaces_dots: bool = False

    @classmethod
    def of(cls, official: OfficialConfiguration) -> JobNames:
        """Return the settings ``jobName.appendDatasetName`` and ``jobName.replaceDotWithUnderscore``."""
        return cls(
            official.flag("jobName.appendDatasetName", True), official.flag("jobName.replaceDotWithUnderscore", False)
        )

    def name(self, application: str, command: str, dataset: str = "") -> str:
        """Return the name of a job: the application's, the command's and the output's part, where they are not empty."""
        parts = (application, command, dataset if self.appends_dataset else "")
        return ("_" if self.replaces_dots else ".").join(part for part in parts if part)
