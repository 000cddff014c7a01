"""Formatters for the consumer's log: an event with its fields, as text or as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class TextLines(logging.Formatter):
    """``12:30:01 batch written  batch=3 messages=200``."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        facts = " ".join(f"{name}={_short(value)}" for name, value in facts_of(record).items())
        line = f"{time} {level}{record.getMessage()}" + (f"  {facts}" if facts else "")
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, event, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **facts_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields that a record was given as ``extra``."""
    return {name: value for name, value in record.__dict__.items() if name not in _OWN}


def configure(form: Literal["auto", "text", "json"]) -> None:
    """Send the log of headwater to stderr; libraries' logs are suppressed, because the consumer reports their errors itself."""
    is_text = form == "text" or (form == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextLines() if is_text else JsonLines())
    root = logging.getLogger("headwater")
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
    if not logging.getLogger().handlers:
        # py4j logs a traceback through the root logger where Java ends; without a handler it would go to stderr.
        logging.getLogger().addHandler(logging.NullHandler())
    for name in ("py4j", "neo4j", "pyspark"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _short(value: object) -> str:
    return json.dumps(value, default=str, separators=(",", ":")) if isinstance(value, dict | list) else str(value)
