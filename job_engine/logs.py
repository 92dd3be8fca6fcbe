"""Log lines for operators: a stable `action`, the job's name, and what happens next; secrets redacted."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone
from typing import Any

from job_engine.core.error_text import printable
from job_engine.core.redact import redact, redact_text

FORMATS = ("console", "json")
_FIELDS = ("action", "job", "job_type", "attempt", "worker", "organization")
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One object a line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact_text(record.getMessage()),
        }
        extra = {k: v for k, v in record.__dict__.items() if k not in _STANDARD and v is not None}
        line.update(redact(extra))
        if record.exc_info:
            line["traceback"] = redact_text(self.formatException(record.exc_info))
        return json.dumps(line, default=str, ensure_ascii=False)


class ConsoleFormatter(logging.Formatter):
    """For people: time, level, message, and the fields that find the job again."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, timezone.utc).strftime("%H:%M:%S")
        message = printable(redact_text(record.getMessage())).replace("\n", "\\n")
        shown = [f"{k}={getattr(record, k)}" for k in _FIELDS if getattr(record, k, None) is not None]
        fields = f"  [{' '.join(shown)}]" if shown else ""
        trace = f"\n{printable(redact_text(self.formatException(record.exc_info)))}" if record.exc_info else ""
        return f"{at} {record.levelname:<7} {message}{fields}{trace}"


def configure(log_format: str = "console", level: str = "INFO") -> None:
    """Send the engine's log to standard error. An application with logging of its own need not call this."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else ConsoleFormatter())
    logger = logging.getLogger("job_engine")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
