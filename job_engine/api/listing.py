"""Lists of jobs."""

from __future__ import annotations

from typing import Any

import frappe
from frappe import _

from job_engine.api import answering, answers
from job_engine.api.arguments import json_object, moment
from job_engine.api.errors import InvalidArgument
from job_engine.api.method import method
from job_engine.site import engine, listing

MOST_ROWS = 500


@method()
def list_jobs(
    filters: dict[str, Any] | str | None = None,
    sort: str = "creation desc",
    start: int = 0,
    page_length: int = 20,
) -> answers.JobPage:
    """The jobs that the caller may see: filtered, sorted, one page of them, and how many there are.

    Matches are counted up to 100,000. Of all that match, the page has those that come first by the column that is asked for,
    whichever it is; what has no value there comes last.

    filters: What to look for, see JobFilters. A word takes a text or a list of texts, any of which may match.
    sort: A column, then asc or desc.
    start: How many to skip.
    page_length: How many to answer with, at most 500.
    """
    column, descending = _sort_of(sort)
    if not 0 <= start <= listing.COUNTED:
        raise InvalidArgument(
            _("start is {0}; it lies between 0 and {1}. Narrow the filters instead.").format(start, listing.COUNTED)
        )
    if not 1 <= page_length <= MOST_ROWS:
        raise InvalidArgument(_("page_length is {0}; it lies between 1 and {1}.").format(page_length, MOST_ROWS))
    wanted = listing.which(engine(), frappe.session.user, filters_of(filters))
    page = listing.page(engine(), wanted, column, descending, start, page_length)
    return {
        "jobs": [answering.row_of(job) for job in page.jobs],
        "total": page.total,
        "total_is_exact": page.total_is_exact,
        "start": start,
        "page_length": page_length,
    }


def filters_of(given: dict[str, Any] | str | None) -> dict[str, Any]:
    """Filters with their times read."""
    filters = json_object(given, "filters")
    for word in listing.TIMES:
        value = filters.get(word)
        if value is not None:
            if not isinstance(value, str):
                raise InvalidArgument(_("filters.{0} is {1!r}; it is a time in ISO 8601.").format(word, value))
            filters[word] = moment(value, f"filters.{word}")
    return filters


def _sort_of(sort: str) -> tuple[str, bool]:
    column, _space, way = sort.strip().partition(" ")
    if way.strip().lower() not in ("", "asc", "desc"):
        raise InvalidArgument(_("sort is {0!r}; it is a column and then asc or desc.").format(sort))
    return listing.check_sort(column), way.strip().lower() == "desc"
