"""The location of a script's source code, read from the files in ``.git`` without running git.

The formats are those of gitrepository-layout: ``HEAD``, loose and packed refs, ``config``, and the ``.git`` file of a
linked worktree.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@functools.lru_cache(maxsize=64)
def source_code_location(script: Path) -> dict[str, str] | None:
    """Return the job facet ``sourceCodeLocation`` of a file; None outside a git work tree and before the first commit."""
    found = _find(script)
    if found is None:
        return None
    tree, git = found
    version, branch = _head(git)
    if version is None:
        return None
    path = script.relative_to(tree).as_posix()
    url = _remote(_shared(git))
    location = {"type": "git", "url": url or tree.as_uri(), "path": path, "version": version}
    if url:
        location["repoUrl"] = url
    if branch:
        location["branch"] = branch
    tag = _tag(_shared(git), version)
    return location | ({"tag": tag} if tag else {})


def _find(script: Path) -> tuple[Path, Path] | None:
    for folder in script.parents:
        dot = folder / ".git"
        if dot.is_dir():
            return folder, dot
        if dot.is_file():
            target = dot.read_text().partition("gitdir:")[2].strip()
            return (folder, (folder / target).resolve()) if target else None
    return None


def _shared(git: Path) -> Path:
    # A linked worktree has its own HEAD and shares the refs and config of the main one.
    common = git / "commondir"
    return (git / common.read_text().strip()).resolve() if common.is_file() else git


def _head(git: Path) -> tuple[str | None, str | None]:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return (head if _SHA.fullmatch(head) else None), None
    ref = head.removeprefix("ref: ")
    branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
    return _resolve(git, _shared(git), ref), branch


def _resolve(git: Path, shared: Path, ref: str) -> str | None:
    for loose in (git / ref, shared / ref):
        if loose.is_file():
            return loose.read_text().strip()
    return next((sha for sha, name in _packed(shared) if name == ref), None)


def _packed(shared: Path) -> list[tuple[str, str]]:
    packed = shared / "packed-refs"
    rows: list[tuple[str, str]] = []
    for line in packed.read_text().splitlines() if packed.is_file() else ():
        sha, _, name = line.partition(" ")
        if line.startswith("^") and rows:
            # The commit to which the annotated tag on the previous line points.
            rows.append((line[1:], rows[-1][1]))
        elif _SHA.fullmatch(sha):
            rows.append((sha, name))
    return rows


def _tag(shared: Path, version: str) -> str | None:
    tags = shared / "refs" / "tags"
    loose = [
        path.relative_to(tags).as_posix()
        for path in (sorted(tags.rglob("*")) if tags.is_dir() else ())
        if path.is_file() and path.read_text().strip() == version
    ]
    packed = [
        n.removeprefix("refs/tags/") for sha, n in _packed(shared) if sha == version and n.startswith("refs/tags/")
    ]
    return min(loose + packed, default=None)


def _remote(shared: Path) -> str | None:
    urls: dict[str, str] = {}
    section: tuple[str, str] = ("", "")
    config = shared / "config"
    for line in config.read_text().splitlines() if config.is_file() else ():
        text = line.strip()
        if match := _SECTION.match(text):
            section = (match[1].lower(), match[2] or "")
        elif section[0] == "remote" and text.partition("=")[0].strip().lower() == "url":
            urls.setdefault(section[1], text.partition("=")[2].strip())
    return urls.get("origin") or next(iter(urls.values()), None)
