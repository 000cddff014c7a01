"""Names of jobs, as ``spark.openlineage.jobName.*`` and headwater's own settings change them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .configuration import OfficialConfiguration, items, java_pattern

_SEPARATORS = " _-.:/"


@dataclass(frozen=True, slots=True)
class JobNames:
    """How the names of jobs are made of their parts."""

    appends_dataset: bool = True
    replaces_dots: bool = False
    removed: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, official: OfficialConfiguration, own: OfficialConfiguration) -> JobNames:
        """Return the settings ``jobName.appendDatasetName`` and ``jobName.replaceDotWithUnderscore``, and the own one."""
        return cls(
            official.flag("jobName.appendDatasetName", True),
            official.flag("jobName.replaceDotWithUnderscore", False),
            own.parsed("jobName.removePatterns", _patterns, ()),
        )

    def stable(self, text: str) -> str:
        """Return the text without what the patterns match; all of it if nothing else is in it."""
        rest = text
        for pattern in self.removed:
            rest = pattern.sub("", rest)
        return rest.strip(_SEPARATORS) or text if rest != text else text

    def name(self, application: str, command: str, dataset: str = "") -> str:
        """Return the name of a job: the application's, the command's and the output's part, where they are not empty."""
        parts = (application, command, self.stable(dataset) if self.appends_dataset else "")
        return ("_" if self.replaces_dots else ".").join(part for part in parts if part)


def _patterns(text: str) -> tuple[re.Pattern[str], ...]:
    return tuple(java_pattern(part) for part in items(text))
