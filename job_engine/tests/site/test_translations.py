"""Every translation that the app ships is complete, up to date and fits its messages. Frappe's own words are Frappe's."""

from __future__ import annotations

import string
from collections import Counter

import pytest

from job_engine.tests.site import messages
from job_engine.tests.site.messages import Said

LANGUAGES = sorted(path.stem for path in (messages.PACKAGE / "translations").glob("*.csv"))

pytestmark = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture(scope="module")
def said(connected: str) -> list[Said]:
    return messages.said_by_the_app()


def test_frappes_tools_find_what_the_app_says(said: list[Said], language: str):
    """One of each kind: were one not looked at, the other tests here would have nothing to say about it."""
    texts = {each.text for each in said}
    assert {
        "There is no job {0}.",  # the engine
        "Not due yet; it will be queued at {0}.",  # explain
        "The {0} checked jobs",  # a bundle
        "Retry with Changed Parameters",
        "95 of 100 jobs took no longer",  # a page
        "Mine",  # a list
        "Dead Letter",  # an option
        "Attempts whose worker vanished.",  # a description
        "Jobs Completed in 24 Hours",  # a number card
        "Job Throughput",  # a chart
        "Your Shortcuts",  # a heading of the workspace
        "{0} others",  # an alert
        "Job Manager",  # a role
    } <= texts


def test_every_message_is_translated(said: list[Said], language: str):
    frappes = messages.translated_by_frappe(language)
    ours = {(source, context) for source, _translation, context in messages.translated_by_the_app(language)}
    missing = {
        each.text: each.where
        for each in said
        if not {(each.text, each.context), (each.text, "")} & ours and each.text not in frappes
    }
    assert not missing, f"add these to job_engine/translations/{language}.csv"


def test_nothing_is_translated_that_nobody_says(said: list[Said], language: str):
    known = {(each.text, each.context) for each in said} | {(each.text, "") for each in said}
    stale = [
        (source, context)
        for source, _, context in messages.translated_by_the_app(language)
        if (source, context) not in known
    ]
    assert not stale, f"remove these from job_engine/translations/{language}.csv"


def test_a_message_is_translated_once_and_in_order(said: list[Said], language: str):
    sources = [(source, context) for source, _translation, context in messages.translated_by_the_app(language)]
    assert [each for each, n in Counter(sources).items() if n > 1] == []
    assert sources == sorted(sources, key=lambda each: (each[0].lower(), *each)), (
        "sorted, so that one line is one change"
    )


def test_placeholders_agree(said: list[Said], language: str):
    wrong = [
        (source, translation)
        for source, translation, _context in messages.translated_by_the_app(language)
        if is_template(source) and placeholders(source) != placeholders(translation)
    ]
    assert not wrong


def test_frappes_own_words_are_left_to_frappe(said: list[Said], language: str):
    """A line without a context holds for the whole site, other apps' pages included."""
    frappes = messages.translated_by_frappe(language)
    changed = [
        (source, translation, frappes[source])
        for source, translation, context in messages.translated_by_the_app(language)
        if not context and frappes.get(source, translation) != translation
    ]
    assert not changed, "give these a context"


def is_template(text: str) -> bool:
    """A text with JSON in it is none: nothing is put into it."""
    try:
        return bool(placeholders(text))
    except ValueError:
        return False


def placeholders(text: str) -> set[str]:
    """Which values a template takes. How it writes them, such as with or without commas, is each language's own."""
    return {field for _text, field, _format, _conversion in string.Formatter().parse(text) if field is not None}
