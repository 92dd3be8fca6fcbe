"""Values as PyMySQL writes them into a statement, remembered.

PyMySQL looks at every value in Python, twenty of them for a job. Most are the same from job to job: a type, a queue, a user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

MOST = 4_000  # values that are remembered
LONGEST = 140  # of them: what is longer is a payload, and comes once


class Literals:
    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def rows(self, rows: Iterable[Sequence[Any]], write: Callable[[Any], str]) -> str:
        """The rows of a VALUES clause; `write` is the connection's own way to write a value that is not known yet."""
        known = self._known
        if len(known) > MOST:
            known.clear()
        written = []
        for row in rows:
            values = []
            for value in row:
                if value is None:
                    values.append("NULL")
                elif type(value) is str and len(value) <= LONGEST:
                    text = known.get(value)
                    if text is None:
                        text = known[value] = write(value)
                    values.append(text)
                else:
                    values.append(write(value))
            written.append(f"({', '.join(values)})")
        return ", ".join(written)
