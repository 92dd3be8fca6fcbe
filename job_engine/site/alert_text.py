"""What an alert says: how many jobs, of which types, and why. Others wrote the names and errors in it, so all is escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from frappe import _
from frappe.utils import escape_html, fmt_money, get_url

from job_engine.core.error_text import printable
from job_engine.core.redact import redact_text

MOST_LINES = 5  # of types and of causes
CAUSE_LENGTH = 160

_VARYING = re.compile(r"\d+|\b[0-9a-f]{8,}\b")  # numbers and ids: what differs between errors of one cause


@dataclass(frozen=True, slots=True)
class AlertText:
    plain_subject: str
    subject: str  # HTML, as all that follows
    body: str
    link: str
    mail: str


def write(organization: str, jobs: Sequence[Any]) -> AlertText:
    subject = _subject(organization, jobs)
    link = _link(organization, jobs)
    body = _list(_("By type"), Counter(job.job_type for job in jobs)) + _list(_("By cause"), _causes(jobs))
    look = _("Look at them") if len(jobs) > 1 else _("Look at it")
    button = f'<p><a href="{escape_html(link)}">{escape_html(look)}</a></p>'
    return AlertText(subject, escape_html(subject), body, link, f"<p>{escape_html(subject)}</p>{body}{button}")


def _subject(organization: str, jobs: Sequence[Any]) -> str:
    if len(jobs) == 1:
        return _("A job of type {0} of {1} has failed for good and needs a person.").format(
            jobs[0].job_type, organization
        )
    return _("{0} jobs of {1} have failed for good and need a person.").format(_number(len(jobs)), organization)


def _link(organization: str, jobs: Sequence[Any]) -> str:
    """To the job, or to the list of them."""
    if len(jobs) == 1:
        return get_url(f"/app/background-job/{quote(jobs[0].name)}")
    return get_url(f"/app/background-job?{urlencode({'status': 'Dead Letter', 'organization': organization})}")


def _causes(jobs: Sequence[Any]) -> Counter[str]:
    """Errors that differ only in numbers are one cause, shown as the first of them."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for job in jobs:
        cause = _cause(job)
        alike = _VARYING.sub("#", cause)
        counts[alike] += 1
        first.setdefault(alike, cause)
    return Counter({first[alike]: n for alike, n in counts.items()})


def _cause(job: Any) -> str:
    text = " ".join(printable(redact_text(job.last_error or job.reason or _("No reason is known."))).split())
    return text if len(text) <= CAUSE_LENGTH else text[: CAUSE_LENGTH - 1] + "…"


def _list(title: str, counts: Counter[str]) -> str:
    lines = [f"<li>{_number(n)} &times; {escape_html(text)}</li>" for text, n in counts.most_common(MOST_LINES)]
    others = sum(counts.values()) - sum(n for _text, n in counts.most_common(MOST_LINES))
    if others:
        more = _("{0} others").format(_number(others))
        lines.append(f"<li>{escape_html(more)}</li>")
    return f"<p><b>{escape_html(title)}</b></p><ul>{''.join(lines)}</ul>"


def _number(n: int) -> str:
    """As the site writes numbers."""
    return fmt_money(n, precision=0)
