"""The language of whoever is spoken to: of a request, or of the person that a message goes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import frappe
from frappe.translate import get_user_lang

from job_engine.core.language import set_translator


def speak_to_callers() -> None:
    """Let the engine answer requests in their language. Cheap: called wherever a request may begin to need it."""
    set_translator(_for_a_request)


def _for_a_request(text: str) -> str:
    """Outside of one, nobody is there to be spoken to: what a worker says is stored, and others read it."""
    return frappe._(text) if getattr(frappe.local, "request", None) else text


@contextmanager
def language_of(user: str) -> Iterator[None]:
    """What is said inside is for this user."""
    before = frappe.local.lang
    frappe.local.lang = get_user_lang(user)
    try:
        yield
    finally:
        frappe.local.lang = before
