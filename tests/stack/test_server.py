"""What the log of a failed server tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater_stack.server import choose_ports, last_error


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("INFO a\nERROR first\nERROR second\nINFO bye\n", "ERROR second"),
        (
            "INFO a\njava.io.IOException: No space left on device\n\tat x.y(z)\n",
            "java.io.IOException: No space left on device",
        ),
        (
            "Error: Could not find or load main class kafka.Kafka\n",
            "Error: Could not find or load main class kafka.Kafka",
        ),
        ("just\nwords\n\n", "words"),
        ("", "it ended without a message"),
    ],
)
def test_the_last_error_of_a_log_is_shown_else_its_last_line(tmp_path: Path, log: str, error: str) -> None:
    (tmp_path / "log").write_text(log)
    assert last_error(tmp_path / "log") == error


def test_a_log_that_was_never_written_is_no_fault(tmp_path: Path) -> None:
    assert last_error(tmp_path / "none") == "it ended without a message"


def test_free_ports_differ() -> None:
    assert len(set(choose_ports("X", 5, None, (), "--x"))) == 5
