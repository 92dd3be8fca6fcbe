"""What every method of the API has in common: who may call it, how often, with which arguments, and how errors are told.

`METHODS` knows all of them; the OpenAPI document is made from it, and the tests go through it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

import frappe
from frappe import _
from frappe.utils.typing_validations import transform_parameter_types

from job_engine.api import limits, permission
from job_engine.api.errors import Busy, InvalidArgument, answered

_TRIES = 5  # of a change that the database has undone because of another's
_SERIALIZATION_FAILURE = "40001"  # PostgreSQL's: another transaction has inserted or changed the same row meanwhile
_FRAPPES = frozenset({"cmd", "data", "_type", "sid", "_lang"})  # arguments that are for Frappe itself


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    function: Callable[..., Any]
    changes: bool
    managers: bool
    status: int
    takes_key: bool
    content_type: str

    @property
    def verbs(self) -> list[str]:
        return ["POST"] if self.changes else ["GET", "POST"]

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)


METHODS: dict[str, Method] = {}


def method(
    *,
    changes: bool = False,
    managers: bool = False,
    status: int = 200,
    takes_key: bool = False,
    content_type: str = "application/json",
    documented: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a method of the API.

    `changes`: POST only, so that Frappe asks for its CSRF token. `managers`: not for those who may only look.
    `takes_key`: it reads the header Idempotency-Key. `status`: what it answers with when all went well. `documented`: others
    may rely on it; what only our own Desk pages call is not.
    """

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__annotations__ = get_type_hints(function)  # Frappe checks types and skips those that are texts
        made = Method(function.__name__, function, changes, managers, status, takes_key, content_type)
        if documented:
            METHODS[made.name] = made

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with answered():
                if getattr(frappe.local, "request", None):
                    permission.check_role(managers)
                    limits.check("change" if changes else "read")
                    _check_names(made)
                    args, kwargs = transform_parameter_types(function, args, kwargs)
                    if status != 200:
                        frappe.local.response["http_status_code"] = status
                else:
                    permission.check_role(managers)
                return _repeated(function, args, kwargs) if changes else function(*args, **kwargs)

        called.__annotations__ = {}  # checked above, where errors are told; Frappe would check them again, outside
        return frappe.whitelist(methods=made.verbs)(called)

    return make


def _check_names(made: Method) -> None:
    """Frappe drops arguments that a method does not have: a misspelled run_after would run the job at once."""
    known = list(made.signature.parameters)
    for name in frappe.form_dict:
        if name not in known and name not in _FRAPPES:
            there_are = _("It has: {0}.").format(", ".join(known)) if known else _("It has none.")
            raise InvalidArgument(_("{0} has no argument {1!r}. {2}").format(made.name, name, there_are))
    for name, parameter in made.signature.parameters.items():
        if parameter.default is parameter.empty and name not in frappe.form_dict:
            raise InvalidArgument(_("{0} needs the argument {1!r}.").format(made.name, name))


def _repeated(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A change is one transaction. Where the database has undone it in favour of another's, it is made again."""
    for _try in range(_TRIES):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if frappe.db.is_timedout(error):  # it has waited long enough for a lock
                raise _busy() from error
            if not (frappe.db.is_deadlocked(error) or getattr(error, "pgcode", None) == _SERIALIZATION_FAILURE):
                raise
            frappe.db.rollback()
    raise _busy()


def _busy() -> Busy:
    return Busy(_("The database could not do this now because others were changing the same rows. Try again."))
