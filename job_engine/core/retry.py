"""How long a failed job waits before it is tried again.

`attempt` is the number of the attempt that just failed, from 1. The delay is capped first and spread by jitter after
that: the result lies within `[d * (1 - jitter), d * (1 + jitter)]` of the capped delay `d`, so it may exceed the cap by
the jitter. Were it cut at the cap instead, half of the jobs that reached the cap would return at the same moment, which
is what jitter is there to prevent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from job_engine.core.errors import InvalidJob
from job_engine.core.language import _

KINDS = ("exponential", "linear", "fixed", "list")
MAX_DELAY = 366 * 86_400.0  # keeps `run_after` a date that every database can store


@dataclass(frozen=True)
class RetryPolicy:
    kind: str = "exponential"
    base: float = 60.0  # seconds after the first failure (exponential, fixed); seconds added by each (linear)
    factor: float = 2.0  # exponential: each delay is the last one times this
    cap: float = MAX_DELAY
    jitter: float = 0.2  # 0.2 spreads a delay by up to 20 % either way
    delays: tuple[float, ...] = ()  # list: one for each attempt; the last one is repeated

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidJob(
                _("Retry kind {0!r} does not exist. Choose one of: {1}.").format(self.kind, ", ".join(KINDS))
            )
        self._store("base", _number("base", self.base, 0, MAX_DELAY))
        self._store("factor", _number("factor", self.factor, 0, math.inf))
        self._store("cap", _number("cap", self.cap, 0, MAX_DELAY))
        self._store("jitter", _number("jitter", self.jitter, 0, 1))
        if not isinstance(self.delays, (list, tuple)):
            raise InvalidJob(_("Retry delays must be a list of seconds, got {0!r}.").format(self.delays))
        self._store("delays", tuple(_number("delays", delay, 0, MAX_DELAY) for delay in self.delays))
        if self.kind == "list" and not self.delays:
            raise InvalidJob(_("A retry list needs at least one delay in seconds, such as [10, 60, 300]."))

    def _store(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)  # the dataclass is frozen for everybody else

    def delay(self, attempt: int, rng: random.Random | None = None) -> float:
        """Seconds to wait after failed attempt number `attempt`."""
        exact = self._exact(attempt)
        if not self.jitter:
            return exact
        spread = (rng or random).uniform(-self.jitter, self.jitter)
        return exact * (1 + spread)

    def schedule(self, n: int, jitter: bool = False, rng: random.Random | None = None) -> list[float]:
        """The delays after attempts 1 to `n`, exact unless jitter is asked for."""
        return [self.delay(a, rng) if jitter else self._exact(a) for a in range(1, n + 1)]

    def _exact(self, attempt: int) -> float:
        if attempt < 1:
            raise ValueError(f"Attempts are counted from 1, got {attempt}.")
        if self.kind == "list":
            wanted = self.delays[min(attempt, len(self.delays)) - 1]
        elif self.kind == "linear":
            wanted = self.base * attempt
        elif self.kind == "fixed":
            wanted = self.base
        else:
            wanted = self._power(attempt - 1)
        return min(wanted, self.cap)

    def _power(self, exponent: int) -> float:
        if not self.base:
            return 0.0
        try:
            return self.base * self.factor**exponent
        except OverflowError:
            return math.inf

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "delays": list(self.delays)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RetryPolicy:
        """The inverse of `to_json`; what is left out has its default."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(str(key) for key in data if key not in known)
        if unknown:
            raise InvalidJob(
                _("Retry policy has no {0}. Its fields are: {1}.").format(", ".join(unknown), ", ".join(known))
            )
        return cls(**data)

    @classmethod
    def parse(cls, spec: Any) -> RetryPolicy:
        """A policy from the forms people write: a preset's name, seconds, a list of seconds, a dict of fields.

        Plain seconds are taken at their word, without jitter; a dict can ask for it.
        """
        if isinstance(spec, cls):
            return spec
        if isinstance(spec, str) and spec in PRESETS:
            return PRESETS[spec]
        if isinstance(spec, (int, float)) and not isinstance(spec, bool):
            return cls("fixed", base=spec, jitter=0.0)
        if isinstance(spec, (list, tuple)):
            return cls("list", delays=tuple(spec), jitter=0.0)
        if isinstance(spec, Mapping):
            return cls.from_json(spec)
        raise InvalidJob(
            _(
                "{0!r} is not a retry policy. Use a preset ({1}), seconds, a list of seconds, or a dict such as"
                " {{'kind': 'exponential', 'base': 60, 'factor': 2, 'cap': 1800}}."
            ).format(spec, ", ".join(PRESETS))
        )


def _number(field: str, value: Any, least: float, most: float) -> float:
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isfinite(number) and least <= number <= most:
        return number
    if math.isfinite(most):
        said = _("Retry {0} must be a number of at least {1:g} and at most {2:,.0f}, got {3!r}.")
    else:
        said = _("Retry {0} must be a number of at least {1:g}, got {3!r}.")
    raise InvalidJob(said.format(field, least, most, value))


PRESETS: dict[str, RetryPolicy] = {
    "standard": RetryPolicy("exponential", base=60, factor=2, cap=1800),  # 1, 2, 4, 8, 16 min
    "quick": RetryPolicy("exponential", base=2, factor=2, cap=60),  # min(60, 2**n) s
    "linear": RetryPolicy("linear", base=10, cap=300),  # min(300, 10*n) s
    "patient": RetryPolicy("exponential", base=60, factor=2, cap=300),  # min(300, 30*2**n) s
    "fixed": RetryPolicy("fixed", base=60),
}
