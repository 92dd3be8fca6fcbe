"""A line of the demo's account of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Tone(str, Enum):
    """How a line is meant; the screen has a color for each."""

    PLAIN = "plain"
    DONE = "good news"
    TROUBLE = "a failure that will be put right"
    BAD = "a failure that needs a person"
    DEED = "the demo itself interferes"


@dataclass(frozen=True, slots=True)
class Event:
    text: str
    tone: Tone = Tone.PLAIN
