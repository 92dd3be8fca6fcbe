"""What somebody may see of the numbers, as conditions of SQL: which organizations, and which types not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from job_engine.core.priority import Lane
from job_engine.site import tenancy
from job_engine.site.permissions import hidden_types

if TYPE_CHECKING:
    from job_engine.store.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Scope:
    organizations: frozenset[str] | None  # None: all
    hidden: frozenset[str]  # types
    is_operator: bool

    @classmethod
    def of(cls, user: str, organization: str | None = None) -> Scope:
        """All that the user may see, or of that one organization."""
        permitted = tenancy.permitted_organizations(user)
        hidden = frozenset() if permitted is None else hidden_types(user)
        chosen = permitted
        if organization is not None and (permitted is None or organization in permitted):
            chosen = frozenset({organization})
        return cls(chosen, hidden, permitted is None)

    def has(self, organization: str, job_type: str) -> bool:
        return (self.organizations is None or organization in self.organizations) and job_type not in self.hidden

    def has_lane(self, lane: Lane) -> bool:
        return self.has(lane.organization, lane.job_type)

    def conditions(self, dialect: Dialect) -> tuple[str, list[Any]]:
        """To follow a WHERE of its own: each begins with AND."""
        if self.organizations is not None and not self.organizations:
            return " AND 1 = 0", []
        condition, parameters = "", []
        if self.organizations is not None:
            those, values = dialect.among("organization", sorted(self.organizations))
            condition, parameters = f" AND {those}", [*values]
        if self.hidden:
            those, values = dialect.among("job_type", sorted(self.hidden))
            condition, parameters = f"{condition} AND NOT ({those})", [*parameters, *values]
        return condition, parameters
