"""The specification: every section that is cited exists, and its examples are golden cases, byte for byte."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from headwater_avro.codec import read_message
from headwater_avro.errors import REJECTION_CODES, EventRejected
from headwater_graph.apply.limits import TransactionLimits
from tests.fake_graph.store import FakeStore

from .feeding import differences, dumped, feed
from .golden.cases import FOLDER, all_cases, read

ROOT = Path(__file__).parents[1]
SPECIFICATION = ROOT / "docs" / "specification.md"

CHAPTER = re.compile(r"^## (\d+) (\S.*)$", re.MULTILINE)
RULE = re.compile(r"^\*\*(\d+\.\d+) (\S[^*\n]*)\.\*\* ", re.MULTILINE)
EXAMPLE = re.compile(
    r"^Example, \[(\S+)\]\(\.\./tests/golden/(\S+)\):\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

_NUMBER = r"[1-9]\d?(?:\.[1-9]\d?)?(?![\w-]|\.\w)"
_JOINT = r"(?:, and | and |, | to )"
_WORD = r"(?:[Ss]pecification(?:,? (?:sections?|chapters?))?)"
CITATION = re.compile(rf"\b{_WORD} ({_NUMBER}(?:{_JOINT}{_NUMBER})*)")
_LINE_END = re.compile(r"\s*\n\s*(?:(?:#|//|--|\*|>)\s+)?")

PERMANENT = (
    *("1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"),
    *("2", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9"),
    *("3", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6"),
    *("4", "4.1", "4.2", "4.3", "4.4"),
    *("5", "5.1", "5.2", "5.3", "5.4", "5.5"),
    *("6", "6.1", "6.2", "6.3", "6.4", "6.5", "6.6", "6.7", "6.8", "6.9"),
    *("7", "8", "9"),
)
"""Numbers of released rules: they keep their meaning for ever, so they are never taken away."""

CHAPTERS_WITH_EXAMPLE = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12")
"""The chapters that events and a dump can illustrate."""


def specification() -> str:
    return SPECIFICATION.read_text(encoding="utf-8")


def prose() -> str:
    """The specification without its examples and without what is set as code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", specification(), flags=re.MULTILINE | re.DOTALL))


def sections() -> list[str]:
    """The numbers of all chapters and rules, in the order of the document."""
    found = [*CHAPTER.finditer(specification()), *RULE.finditer(specification())]
    return [match[1] for match in sorted(found, key=re.Match.start)]


def position(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


def cited_in(text: str) -> Iterator[str]:
    """Yield each section that a text cites: of a list each one, of a range its ends and what lies between."""
    for citation in CITATION.finditer(_LINE_END.sub(" ", text)):
        parts = re.split(rf"({_JOINT})", citation[1])
        yield parts[0]
        for before, joint, number in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            yield from between(before, number) if joint == " to " else ()
            yield number


def between(first: str, last: str) -> Iterator[str]:
    """Yield the numbers between two of the same depth and, if they have one, of the same chapter."""
    *chapter, low = position(first)
    for number in range(low + 1, position(last)[-1]):
        yield ".".join(map(str, (*chapter, number)))


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file of the repository that is a text."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path != Path(__file__):
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


# ---- numbers -----------------------------------------------------------------------------------------------------------


def test_each_section_has_one_number_and_stands_in_its_place() -> None:
    found = sections()
    assert found == sorted(set(found), key=position)
    for number, following in pairwise(found):
        here, there = position(number), position(following)
        assert there in {(here[0] + 1,), (*here[:-1], here[-1] + 1) if len(here) > 1 else (here[0], 1)}, following


def test_released_numbers_are_still_there() -> None:
    assert set(PERMANENT) <= set(sections())


def test_every_section_that_is_cited_exists() -> None:
    known = set(sections())
    cited = [(name, number) for name, text in texts() for number in cited_in(text)]
    assert [one for one in cited if one[1] not in known] == []
    # Code and tests cite nearly every rule: few citations found would mean that they are not recognized.
    assert len({number for _, number in cited}) > len(PERMANENT) // 2


def test_every_section_that_the_specification_refers_to_exists() -> None:
    known = set(sections())
    rules = re.findall(r"(?<![\w.])\d+\.\d+(?![\w.]*\w)", prose())
    chapters = re.findall(r"\bchapter (\d+)", prose())
    assert rules
    assert chapters
    assert [number for number in (*rules, *chapters) if number not in known] == []


def test_every_golden_case_names_a_section() -> None:
    known = set(sections())
    assert [case.name for case in all_cases() if case.rule not in known] == []
    horizons = [path.name for path in (FOLDER / "horizons").glob("*.golden")]
    assert [name for name in horizons if name.partition("-")[0] not in known] == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(specification 2.1)", ["2.1"]),
        ("# specification 7: what", ["7"]),
        ("specification 1.7, 2, 6.7 and 6.8).", ["1.7", "2", "6.7", "6.8"]),
        ("specification 6.1 to 6.4", ["6.1", "6.2", "6.3", "6.4"]),
        ("specification 2.1, and 10.11", ["2.1", "10.11"]),
        ("specification 2.1, 6.7", ["2.1", "6.7"]),
        ("Specification, section 2.1.", ["2.1"]),
        ("specification, sections 2 to 4", ["2", "3", "4"]),
        ("    # as told (specification 5.2,\n    # 5.3)", ["5.2", "5.3"]),
        ("    // specification\n    // 5.2", ["5.2"]),
        ("the OpenLineage specification 2-0-2", []),
        ("specification 2.0.2", []),
        ("the specification has 9 chapters, SPEC = 5", []),
    ],
)
def test_citations_are_recognized(text: str, numbers: list[str]) -> None:
    assert list(cited_in(text)) == numbers


# ---- examples ----------------------------------------------------------------------------------------------------------


def examples() -> dict[str, str]:
    """The text of each example, under the name of its file in the folder of golden cases."""
    return {match[2]: match[3] for match in EXAMPLE.finditer(specification())}


def test_every_block_of_the_specification_is_an_example() -> None:
    assert len(re.findall(r"^```", specification(), re.MULTILINE)) == 2 * len(examples())
    assert [match[1] for match in EXAMPLE.finditer(specification())] == list(examples())


@pytest.mark.parametrize("name", examples())
def test_an_example_is_its_golden_case(name: str) -> None:
    assert examples()[name].encode() == (FOLDER / name).read_bytes()


def test_each_chapter_that_can_have_an_example_ends_with_one() -> None:
    chapters = [match[1] for match in CHAPTER.finditer(specification())]
    bodies = dict(zip(chapters, CHAPTER.split(specification())[3::3], strict=True))
    with_example = [
        number for number, body in bodies.items() if body.rstrip().endswith("\n```") and EXAMPLE.search(body)
    ]
    assert tuple(with_example) == CHAPTERS_WITH_EXAMPLE


def test_the_rejected_messages_have_the_codes_that_their_comments_name() -> None:
    lines = (FOLDER / "8-rejected-messages.golden").read_bytes().partition(b"---\n")[0].splitlines()[2:]
    assert lines
    for comment, message in zip(lines[::2], lines[1::2], strict=True):
        assert f"# {outcome(message)}" == comment.decode()


def outcome(message: bytes) -> str:
    try:
        read_message(message)
    except EventRejected as fault:
        return fault.code
    return "accepted"


@pytest.mark.parametrize("limits", [TransactionLimits(), TransactionLimits(rows=1), TransactionLimits(runs=1, rows=1)])
def test_the_late_run_gives_the_same_graph_at_once_and_by_deferred_work(limits: TransactionLimits) -> None:
    case = read(FOLDER / "12-late-run.golden")
    store = FakeStore()
    feed(store, case.messages[:-1], limits)
    feed(store, case.messages[-1:], limits)
    assert dumped(store) == case.dump, differences(case.dump, dumped(store))


def test_every_reason_code_is_in_the_specification() -> None:
    listed = re.findall(r"^\| `(\w+)` \| ", specification().partition("**8.2 ")[2].partition("**8.3 ")[0], re.MULTILINE)
    assert tuple(listed) == REJECTION_CODES
