"""What this app says to people, as Frappe's own tools find it, and what a translation file makes of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import frappe
from frappe.gettext.extractors import workspace
from frappe.gettext.extractors.utils import is_translatable
from frappe.translate import get_messages_for_app, get_translations_from_apps

import job_engine

PACKAGE = Path(job_engine.__file__).parent
MODULE = PACKAGE / "job_engine"
DOCTYPE = "DocType: "
NAVBAR = "Navbar:"  # Frappe's own
NOT_SHOWN = ("/public/dist/", "/job_engine/tests/")  # built from the others; said to nobody


class Said(NamedTuple):
    text: str
    context: str  # of a doctype's words, the doctype: Frappe asks for them with and without it
    where: str


def said_by_the_app() -> list[Said]:
    return [*_found_by_frappe(), *_of_the_workspace()]


def _found_by_frappe() -> Iterator[Said]:
    frappe.flags.pop("scanned_files", None)  # it reads each file once in a process
    for where, text, *more in get_messages_for_app("job_engine", deduplicate=False):
        if where is None:
            continue  # of a page or a report, whose names are below, or somebody's own
        if where.startswith(DOCTYPE):
            yield Said(text, where.removeprefix(DOCTYPE), where)
        elif where != NAVBAR and not any(part in f"/{where}" for part in NOT_SHOWN):
            yield Said(text, (more[0] if len(more) == 2 else None) or "", where)


def _of_the_workspace() -> Iterator[Said]:
    """Frappe shows these translated, and get_messages_for_app does not look at them."""
    for path in MODULE.glob("workspace/*/*.json"):
        with path.open("rb") as file:
            for _line, _function, text, _comments in workspace.extract(file):
                if text and is_translatable(text):
                    yield Said(frappe.utils.strip_html_tags(text), "", path.name)
    for kind, field in (("number_card", "label"), ("dashboard_chart", "chart_name"), ("page", "title")):
        for path in MODULE.glob(f"{kind}/*/*.json"):
            yield Said(json.loads(path.read_text())[field], "", path.name)


def translated_by_frappe(language: str) -> dict[str, str]:
    """Its own words, in its own translation."""
    return get_translations_from_apps(language, ["frappe"])


def translated_by_the_app(language: str) -> list[tuple[str, str, str]]:
    """Source, translation and context of every line."""
    with (PACKAGE / "translations" / f"{language}.csv").open(encoding="utf-8", newline="") as file:
        return [(source, translation, context) for source, translation, context in csv.reader(file)]
