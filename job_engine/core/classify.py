"""Whether an error is worth another try.

Permanent is what another try cannot mend: validation, permission, not found, authentication, an integrity constraint,
bad arguments, an unknown handler, an undecodable payload. Everything else is transient, and so is what no rule knows.

Plain ValueError, TypeError, KeyError, AttributeError and their like are *unknown*, hence transient. They look
permanent, but a handler raises them as often for what it read (a half-written file, an API that answered with an error
page) as for what it was given, and a bug is mended by the next deployment, which the retries may well reach. A retry
too many costs minutes; a job given up too early costs a person. A handler that knows better raises PermanentError, and
an application that sees it otherwise says so once: `default_classifier.register(ValueError, ErrorType.PERMANENT)`.

Only the error itself is judged (and SQLAlchemy's `.orig`), never its `__cause__`: whoever wrapped an error in another
one chose that class for a reason.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterable
from datetime import datetime

from job_engine.core.classify_rules import Verdict, judge, names_of, retry_after_of
from job_engine.core.classify_tables import ErrorType
from job_engine.core.errors import InvalidJob, PermanentError, TransientError

__all__ = ["Classifier", "ErrorType", "Match", "Predicate", "Verdict", "classify", "default_classifier"]

log = logging.getLogger(__name__)

Answer = ErrorType | Verdict | None
Predicate = Callable[[BaseException], Answer]
Match = type[BaseException] | str | Predicate


class Classifier:
    """The application's rules, newest first, before the built-in ones."""

    def __init__(self, parent: Classifier | None = None):
        self._parent = parent  # asked after this classifier's own rules
        self._rules: list[Predicate] = []

    def register(self, match: Match, error_type: ErrorType | str | None = None) -> None:
        """Judge the errors that `match` as `error_type`.

        `match` is an exception class or its dotted name ("requests.ConnectionError" or the full path; nothing is
        imported), both with their subclasses, or a function that gets the error. The function returns an ErrorType, a
        Verdict or None; with `error_type` given, whether that is what the error is.
        """
        if isinstance(match, (type, str)):
            if error_type is None:
                raise InvalidJob(f"Say what {match!r} is: ErrorType.TRANSIENT or ErrorType.PERMANENT.")
            self._rules.append(_nearest({_key(match): ErrorType(error_type)}))
        elif callable(match):
            self._rules.append(match if error_type is None else _only(match, ErrorType(error_type)))
        else:
            raise InvalidJob(f"{match!r} matches no error. Pass an exception class, its dotted name or a function.")

    def with_overrides(
        self, transient: Iterable[type[BaseException] | str] = (), permanent: Iterable[type[BaseException] | str] = ()
    ) -> Classifier:
        """A classifier for one job type, asked before this one. Where both lists match, the nearer class decides."""
        table = {_key(match): ErrorType.TRANSIENT for match in transient}
        for match in permanent:
            if _key(match) in table:
                raise InvalidJob(f"{match!r} is listed as transient and as permanent. Remove one of them.")
            table[_key(match)] = ErrorType.PERMANENT
        child = Classifier(parent=self)
        if table:
            child._rules.append(_nearest(table))
        return child

    def classify(self, exc: BaseException, now: datetime | None = None) -> Verdict:
        """The verdict on `exc`. `now` is what a Retry-After date is compared with."""
        if isinstance(exc, TransientError):  # the handler's own word, which no rule overrules
            return Verdict(ErrorType.TRANSIENT, exc.retry_after, "the handler raised TransientError")
        if isinstance(exc, PermanentError):
            return Verdict(ErrorType.PERMANENT, None, "the handler raised PermanentError")
        verdict = self._ask_rules(exc) or judge(exc) or Verdict(ErrorType.TRANSIENT, reason="no rule knows this error")
        if verdict.error_type is ErrorType.PERMANENT or verdict.retry_after is not None:
            return verdict
        return Verdict(verdict.error_type, retry_after_of(exc, now), verdict.reason)

    def _ask_rules(self, exc: BaseException) -> Verdict | None:
        for rule in reversed(self._rules):
            answer = _ask(rule, exc)
            if answer is not None:
                return answer
        return self._parent._ask_rules(exc) if self._parent else None


def _ask(rule: Predicate, exc: BaseException) -> Verdict | None:
    try:
        answer = rule(exc)
        if answer is None or isinstance(answer, Verdict):
            return answer
        return Verdict(ErrorType(answer), reason=f"rule {getattr(rule, '__qualname__', rule)}")
    except Exception:
        # The job's own error is what matters here: it is judged without the broken rule.
        log.exception(
            "A rule that classifies errors failed and was passed over", extra={"action": "classify_rule_failed"}
        )
        return None


def _nearest(table: dict[type | str, ErrorType]) -> Predicate:
    """A rule for the first class of the error's MRO that the table has, by itself or by name."""

    def rule(exc: BaseException) -> Verdict | None:
        for cls in type(exc).__mro__:
            for key in (cls, *names_of(cls)):
                if key in table:
                    return Verdict(table[key], reason=f"registered rule for {getattr(key, '__qualname__', key)}")
        return None

    return rule


def _only(predicate: Predicate, error_type: ErrorType) -> Predicate:
    def rule(exc: BaseException) -> Verdict | None:
        name = getattr(predicate, "__qualname__", predicate)
        return Verdict(error_type, reason=f"rule {name}") if predicate(exc) else None

    return rule


def _key(match: type | str) -> type | str:
    if isinstance(match, type) and issubclass(match, BaseException):
        return match
    if isinstance(match, str) and "." in match:
        return match
    builtin = getattr(builtins, match, None) if isinstance(match, str) else None
    if isinstance(builtin, type) and issubclass(builtin, BaseException):
        return builtin
    raise InvalidJob(
        f"{match!r} names no exception class. Pass the class, or its package and name: 'requests.ConnectionError'."
    )


default_classifier = Classifier()


def classify(exc: BaseException, now: datetime | None = None) -> Verdict:
    """The default classifier's verdict."""
    return default_classifier.classify(exc, now)
