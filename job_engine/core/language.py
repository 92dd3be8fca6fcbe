"""What the engine says to people, in their language.

The engine itself speaks English. A home that has languages sets its translator: a Frappe site its own `_`, which knows who
asks. Messages are marked with `_` where they are said, each a whole literal with {0} for what varies, so that Frappe's tools
find them and a translator sees a sentence. Nothing is translated when a module is imported, and nothing that is stored.
"""

from __future__ import annotations

from collections.abc import Callable


def _as_it_is(text: str) -> str:
    return text


_translate: Callable[[str], str] = _as_it_is


def _(text: str) -> str:
    """The text in the language of whoever is spoken to."""
    return _translate(text)


def set_translator(translate: Callable[[str], str]) -> None:
    """For the whole process: who is spoken to, the translator finds out itself."""
    global _translate
    _translate = translate
