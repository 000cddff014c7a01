"""The second implementation of the specification gives each golden case's dump, and each bad message its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..laws.model import dump, reject
from .cases import Case, all_cases, read
from .rejects import MESSAGES, Message

CASES = all_cases()
# Every numbered rule whose effect is in the dump: 2.9, 6.3, 6.4 are about questions, 8 is about the dead-letter topic.
RULES = (
    *("1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "4", "4.1", "4.2", "4.3", "4.4", "5.1", "5.2", "5.3", "5.4", "5.5"),
    *("6.1", "6.2", "6.5", "6.6", "6.7", "6.8", "6.9", "7", "9"),
)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_model_gives_the_golden_dump(case: Case) -> None:
    assert dump(case.messages).decode().splitlines() == case.dump.decode().splitlines()
    assert dump(reversed(case.messages)) == case.dump


def test_every_rule_has_a_case_named_after_it() -> None:
    assert {case.rule for case in CASES} >= set(RULES)
    assert [case.name for case in CASES if not case.name.startswith(f"{case.rule}-")] == []


@pytest.mark.parametrize("message", MESSAGES, ids=[message.name for message in MESSAGES])
def test_the_model_gives_the_reason(message: Message) -> None:
    assert reject(message.value) == message.code


@pytest.mark.parametrize(
    "text", ["# title: t\n# rule: 1.1\n{}\n", "# title: t\n{}\n---\n", "# rule: 1\n# title: t\n---\n"]
)
def test_a_case_without_its_head_or_separator_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "1.1-bad.golden"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"1\.1-bad"):
        read(path)
