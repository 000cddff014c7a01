"""Write the bill of materials of the image, its base excluded, as CycloneDX 1.6: ``python sbom.py FILE``.

Python packages are those of the running environment, jars those of the jar lock.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from headwater_stack.lock import Jar, jars_of


def main() -> None:
    """Write the file named on the command line."""
    Path(sys.argv[1]).write_text(json.dumps(sbom(), indent=1) + "\n", encoding="utf-8")


def sbom() -> dict[str, Any]:
    """Return the bill of materials, the same for the same environment."""
    components = [*map(_package, distributions()), *map(_jar, jars_of(("spark-kafka",)))]
    unique = {component["purl"]: component for component in components}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": [unique[purl] for purl in sorted(unique)],
    }


def _package(distribution: Distribution) -> dict[str, Any]:
    name = distribution.metadata["Name"].lower().replace("_", "-")
    licences = [{"license": {"name": text}} for text in _licences(distribution)]
    return {
        "type": "library",
        "name": name,
        "version": distribution.version,
        "purl": f"pkg:pypi/{name}@{distribution.version}",
        **({"licenses": licences} if licences else {}),
    }


def _licences(distribution: Distribution) -> Iterator[str]:
    # This field may contain a complete licence text.
    metadata = distribution.metadata
    licence = next((metadata[name] for name in ("License-Expression", "License") if name in metadata), "")
    if licence and "\n" not in licence:
        yield licence


def _jar(jar: Jar) -> dict[str, Any]:
    return {
        "type": "library",
        "group": jar.group,
        "name": jar.artifact,
        "version": jar.version,
        "purl": f"pkg:maven/{jar.group}/{jar.artifact}@{jar.version}",
        "hashes": [{"alg": "SHA-256", "content": jar.sha256}],
    }


if __name__ == "__main__":
    main()
