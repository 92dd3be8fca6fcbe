"""Values as PyMySQL writes them into a statement, remembered.

PyMySQL looks at every value in Python, twenty of them for a job. Most are the same from job to job: a type, a queue, a user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

MOST = 4_000  # texts that are remembered
LONGEST = 140  # of single values: what is longer is a payload, and comes once


class Literals:
    def __init__(self) -> None:
        self._known: dict[Any, str] = {}

    def rows(self, rows: Iterable[Sequence[Any]], write: Callable[[Any], str], alike: int = 0) -> str:
        """The rows of a VALUES clause; `write` is the connection's own way to write a value that is not known yet.

        `alike`: so many values at the end of a row are mostly the same from row to row, and remembered together. The others
        are then different in each and not worth remembering.
        """
        if len(self._known) > MOST:
            self._known.clear()
        if alike:
            return ", ".join(
                [f"({self._own(row[:-alike], write)}, {self._alike(row[-alike:], write)})" for row in rows]
            )
        return ", ".join([f"({self._each(row, write)})" for row in rows])

    @staticmethod
    def _own(values: Sequence[Any], write: Callable[[Any], str]) -> str:
        return ", ".join(["NULL" if value is None else write(value) for value in values])

    def _alike(self, values: Sequence[Any], write: Callable[[Any], str]) -> str:
        text = self._known.get(values)
        if text is None:
            text = self._known[values] = self._own(values, write)
        return text

    def _each(self, values: Sequence[Any], write: Callable[[Any], str]) -> str:
        known = self._known
        written = []
        for value in values:
            if value is None:
                written.append("NULL")
            elif type(value) is str and len(value) <= LONGEST:
                text = known.get(value)
                if text is None:
                    text = known[value] = write(value)
                written.append(text)
            else:
                written.append(write(value))
        return ", ".join(written)
