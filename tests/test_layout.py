"""Rules of the repository that a tool can check: layout, what is committed, what the documents say."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("avro", "emitter", "consumer", "graph", "cli", "stack", "web")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_packages_is_not_a_package_itself(folder: str) -> None:
    # An installed `avro` must stay importable from the checkout: a package here would hide it.
    assert not (ROOT / folder / "__init__.py").exists()
    assert any((ROOT / folder).glob("headwater*/__init__.py"))


def test_every_package_is_in_the_wheel_and_typed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    found = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/headwater*/__init__.py"))
    assert sorted(packages) == found
    for package in packages:
        assert (ROOT / package / "py.typed").exists(), package


def test_locks_hold_names_versions_and_hashes_and_no_addresses() -> None:
    locks = [path for path in tracked() if path.name.endswith((".lock", "wheels.txt")) or "requirements" in path.name]
    assert ROOT / "requirements.lock" in locks
    for lock in locks:
        assert "://" not in lock.read_text(), lock
    assert "--hash=sha256:" in (ROOT / "requirements.lock").read_text()


def test_the_guides_name_files_that_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`([\w/]+\.(?:py|md|cypher|yaml|json))`", text))
    assert named
    files = [str(path.relative_to(ROOT)) for path in tracked()]
    for name in named:
        assert any(file.endswith(name) for file in files), name


def test_no_source_cites_a_document_that_is_not_in_the_repository() -> None:
    outside = re.compile(r"\b(?:SPEC|DESIGN) \d|\bseeds? 00\d|\bnotes/\w+\.md")
    texts = [
        path
        for path in tracked()
        if path.suffix in {".py", ".cypher", ".md", ".java", ".toml", ".yaml", ".tpl", ".golden"}
    ]
    assert texts
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if outside.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_links_files_that_are_there(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), f"{document.name} links {target}"
