"""Whether everything went as planned. Pure: what was planned and what was found in, lines of expected and found out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from job_engine.core.states import ENDED, Status
from job_engine.demo.scenario import Planned, Roll


@dataclass(frozen=True, slots=True)
class JobFact:
    """What the database says about one job."""

    status: Status
    attempts: int
    lost: int
    effects: int = 0  # how often its handler's effect was recorded
    completions: int = 0  # how often its history says Completed
    claimed_at: str | None = None  # when it was first claimed,
    completed_at: str | None = None  # and when it first completed


@dataclass(frozen=True, slots=True)
class Facts:
    jobs: Mapping[str, JobFact]  # by name
    stray_effects: int  # of jobs that do not exist
    imported: Mapping[tuple[str, int], int]  # how often each row of each organization was imported
    refused: int  # duplicates for which the existing job was returned


@dataclass(frozen=True, slots=True)
class Count:
    """Something that was counted, and who is to blame where the count is wrong."""

    what: str
    expected: int
    found: int
    blame: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.expected == self.found and not self.blame


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """One job type: how many jobs of it there are, in which states, after how many attempts in all."""

    job_type: str
    jobs: Count
    by_status: Mapping[Status, Count]
    attempts: Count

    @property
    def ok(self) -> bool:
        return all(count.ok for count in (self.jobs, *self.by_status.values(), self.attempts))


@dataclass(frozen=True, slots=True)
class Verdict:
    types: tuple[TypeCounts, ...]
    checks: tuple[Count, ...]

    @property
    def ok(self) -> bool:
        return all(one.ok for one in self.types) and all(one.ok for one in self.checks)


def judge(roll: Roll, duplicates: int, facts: Facts) -> Verdict:
    types = dict.fromkeys(planned.job_type for planned in roll.values())
    return Verdict(
        types=tuple(_count_type(t, roll, facts) for t in types),
        checks=(
            _none("jobs lost", _lost(roll, facts)),
            _none("jobs completed twice, or with an effect twice", _doubled(roll, facts)),
            _none("jobs in a state they should not be in", _misplaced(roll, facts)),
            _effects(roll, facts),
            _agreement(
                "jobs retried after a transient error",
                roll,
                facts,
                lambda p: p.attempts > 1 and not p.lost,
                lambda f: f.attempts > 1 and not f.lost,
            ),
            _agreement("jobs rescued from a killed worker", roll, facts, lambda p: p.lost > 0, lambda f: f.lost > 0),
            _agreement(
                "permanent errors, in Dead Letter at once",
                roll,
                facts,
                lambda p: (p.status, p.attempts) == (Status.DEAD_LETTER, 1),
                lambda f: (f.status, f.attempts) == (Status.DEAD_LETTER, 1),
            ),
            _dependents(roll, facts),
            Count("duplicates refused", duplicates, facts.refused),
            _imported(roll, facts),
        ),
    )


def _count_type(job_type: str, roll: Roll, facts: Facts) -> TypeCounts:
    planned = {name: p for name, p in roll.items() if p.job_type == job_type}
    found = {name: facts.jobs[name] for name in planned if name in facts.jobs}
    wanted = Counter(p.status for p in planned.values())
    states = Counter(f.status for f in found.values())
    return TypeCounts(
        job_type,
        Count("jobs", len(planned), len(found)),
        {status: Count(str(status), wanted[status], states[status]) for status in Status if status in ENDED},
        Count(
            "attempts",
            sum(p.attempts for p in planned.values()),
            sum(f.attempts for f in found.values()),
            tuple(
                f"{p.label}: {found[name].attempts} attempts instead of {p.attempts}"
                for name, p in planned.items()
                if name in found and found[name].attempts != p.attempts
            ),
        ),
    )


def _none(what: str, blame: list[str]) -> Count:
    return Count(what, 0, len(blame), tuple(blame))


def _lost(roll: Roll, facts: Facts) -> list[str]:
    return [
        f"{p.label}: it was enqueued and is not in the database" for name, p in roll.items() if name not in facts.jobs
    ]


def _doubled(roll: Roll, facts: Facts) -> list[str]:
    return [
        f"{roll[name].label if name in roll else name}: {f.completions} completions, {f.effects} effects"
        for name, f in facts.jobs.items()
        if f.completions > 1 or f.effects > 1
    ]


def _misplaced(roll: Roll, facts: Facts) -> list[str]:
    wrong = [
        f"{p.label}: {facts.jobs[name].status} instead of {p.status}"
        for name, p in roll.items()
        if name in facts.jobs and facts.jobs[name].status is not p.status
    ]
    return wrong + [f"{name}: {f.status}, and nobody enqueued it" for name, f in facts.jobs.items() if name not in roll]


def _effects(roll: Roll, facts: Facts) -> Count:
    """Each completed job did its work, and none did that was not completed."""
    wrong = []
    for name, p in roll.items():
        done = facts.jobs[name].effects if name in facts.jobs else 0
        if (done > 0) is not (p.status is Status.COMPLETED):
            wrong.append(f"{p.label}: {done} effects, and it should be {p.status}")
    return Count(
        "effects, one for each completed job",
        sum(p.status is Status.COMPLETED for p in roll.values()),
        sum(f.effects for f in facts.jobs.values()) + facts.stray_effects,
        tuple(wrong),
    )


def _agreement(
    what: str, roll: Roll, facts: Facts, planned: Callable[[Planned], bool], found: Callable[[JobFact], bool]
) -> Count:
    """As many as planned, and the very same ones."""
    wanted = {name for name, p in roll.items() if planned(p)}
    seen = {name for name, f in facts.jobs.items() if found(f)}
    wrong = [f"{roll[name].label}: planned, and it did not happen" for name in roll if name in wanted - seen]
    wrong += [f"{roll[name].label}: it happened, and was not planned" for name in roll if name in seen - wanted]
    return Count(what, len(wanted), len(seen), tuple(wrong))


def _dependents(roll: Roll, facts: Facts) -> Count:
    """Claimed only after the parent's completion was written."""
    by_label = {p.label: name for name, p in roll.items()}
    waiting = {name: p for name, p in roll.items() if p.after is not None and p.status is Status.COMPLETED}
    early = []
    for name, p in waiting.items():
        parent, child = facts.jobs.get(by_label[p.after or ""]), facts.jobs.get(name)
        in_order = (
            parent is not None
            and child is not None
            and parent.completed_at is not None
            and child.claimed_at is not None
            and parent.completed_at <= child.claimed_at
        )
        if not in_order:
            early.append(f"{p.label}: it did not run after {p.after}")
    return Count("dependents run after their parent", len(waiting), len(waiting) - len(early), tuple(early))


def _imported(roll: Roll, facts: Facts) -> Count:
    wanted = {(p.organization, n) for p in roll.values() for n in range(p.rows)}
    wrong = [
        f"row {number} of {organization} was imported {times} times instead of {int((organization, number) in wanted)}"
        for organization, number in sorted(wanted | facts.imported.keys())
        if (times := facts.imported.get((organization, number), 0)) != ((organization, number) in wanted)
    ]
    return Count(
        "rows imported exactly once",
        len(wanted),
        sum(1 for times in facts.imported.values() if times == 1),
        tuple(wrong),
    )
