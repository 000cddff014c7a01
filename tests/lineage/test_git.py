"""Where source code is, read from git's own files and compared with what git says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from headwater.lineage.git import source_code_location

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(tree: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "jobs").mkdir(parents=True)
    (tree / "jobs" / "job.py").write_text("x")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    git(tree, "remote", "add", "origin", "https://example.org/team/repo.git")
    source_code_location.cache_clear()
    return tree


def test_a_commit_on_a_branch(tree: Path) -> None:
    assert source_code_location(tree / "jobs" / "job.py") == {
        "type": "git",
        "url": "https://example.org/team/repo.git",
        "repoUrl": "https://example.org/team/repo.git",
        "path": "jobs/job.py",
        "version": git(tree, "rev-parse", "HEAD"),
        "branch": "main",
    }


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("annotated", [False, True])
def test_a_tag_on_a_detached_head(tree: Path, pack: bool, annotated: bool) -> None:
    git(tree, "tag", *(["-am", "m", "v1"] if annotated and pack else ["v1"]))
    if pack:
        git(tree, "pack-refs", "--all")
    git(tree, "checkout", "-q", "--detach")
    location = source_code_location(tree / "jobs" / "job.py")
    assert location is not None
    assert location["tag"] == "v1"
    assert location["version"] == git(tree, "rev-parse", "HEAD")
    assert "branch" not in location


def test_packed_branches(tree: Path) -> None:
    git(tree, "checkout", "-qb", "feature/x")
    git(tree, "pack-refs", "--all")
    location = source_code_location(tree / "jobs" / "job.py")
    assert location is not None
    assert (location["branch"], location["version"]) == ("feature/x", git(tree, "rev-parse", "HEAD"))


def test_a_linked_work_tree(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-qb", "other", str(tmp_path / "other"))
    location = source_code_location(tmp_path / "other" / "jobs" / "job.py")
    assert location is not None
    assert location["branch"] == "other"
    assert location["repoUrl"] == "https://example.org/team/repo.git"


def test_no_remote(tree: Path) -> None:
    git(tree, "remote", "remove", "origin")
    location = source_code_location(tree / "jobs" / "job.py")
    assert location is not None
    assert location["url"] == tree.as_uri()


def test_outside_of_git_and_before_the_first_commit(tmp_path: Path) -> None:
    assert source_code_location(tmp_path / "a" / "job.py") is None
    git(tmp_path, "init", "-q")
    assert source_code_location(tmp_path / "b" / "job.py") is None
