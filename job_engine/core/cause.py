"""The cause of an error: its text without what differs from job to job, so that one fault of many jobs is one line."""

from __future__ import annotations

import hashlib
import re

LIMIT = 200  # characters
HOLE = "…"

_QUOTED = re.compile(r"""(?<!\w)(?:"[^"\n]{1,200}"|'[^'\n]{1,200}'|`[^`\n]{1,200}`)(?!\w)""")
_TOKEN = re.compile(r"[\w./:@+#-]+")
_HTTP_STATUS = re.compile(r"[45]\d\d")  # 404 and 503 are different faults


def cause_of(error: str | None) -> str:
    """ "ValueError: Invoice INV-17 of 'Acme' not found" and the same of another invoice have one cause."""
    line = " ".join((error or "").partition("\n")[0].split())
    line = _TOKEN.sub(_without_numbers, _QUOTED.sub(HOLE, line))
    return line[:LIMIT] or "no error recorded"


def cause_id(job_type: str, cause: str) -> str:
    """A short name for a type's cause, the same everywhere."""
    return hashlib.sha256(f"{job_type}\0{cause}".encode()).hexdigest()[:16]


def _without_numbers(found: re.Match[str]) -> str:
    token = found[0].rstrip(".:")  # a sentence's own full stop or colon stays
    if _HTTP_STATUS.fullmatch(token) or not any(map(str.isdigit, token)):
        return found[0]
    return HOLE + found[0][len(token) :]
