from __future__ import annotations

import asyncio
import concurrent.futures
import email.message
import errno
import http.client
import importlib
import logging
import smtplib
import socket
import sqlite3
import ssl
import subprocess
import urllib.error
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from job_engine.core import errors
from job_engine.core.classify import Classifier, ErrorType, Verdict, classify
from job_engine.core.classify_rules import MAX_RETRY_AFTER

T, P = ErrorType.TRANSIENT, ErrorType.PERMANENT
NOW = datetime(2024, 5, 1, 12, 0, tzinfo=timezone.utc)


def foreign(dotted: str, *bases: type[BaseException], **attributes: Any) -> type[BaseException]:
    """A class that looks as if a package that is not installed here had defined it."""
    module, _, name = dotted.rpartition(".")
    return type(name, bases or (Exception,), {"__module__": module, **attributes})


def with_data(exc: BaseException, **attributes: Any) -> BaseException:
    for name, value in attributes.items():
        setattr(exc, name, value)
    return exc


def http_error(status: int, headers: dict[str, str] | None = None) -> urllib.error.HTTPError:
    message = email.message.Message()
    for name, value in (headers or {}).items():
        message[name] = value
    return urllib.error.HTTPError("https://x", status, "no", message, None)


# What the standard library and the engine raise ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (errors.TransientError(), T),
        (errors.PermanentError(), P),
        (errors.UnknownJobType(job_type="x"), P),
        (errors.InvalidParams(), P),
        (errors.PayloadTooLarge(size=2, limit=1), P),
        (errors.UndecodablePayload(), P),
        (errors.JobNotFound(name="x"), P),
        (errors.JobTimeout(), T),
        (errors.StoreUnavailable(), T),
        (ConnectionError(), T),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), T),
        (BrokenPipeError(), T),
        (socket.gaierror(-2, "unknown host"), T),
        (ssl.SSLError("handshake"), T),
        (urllib.error.URLError("unreachable"), T),
        (http.client.RemoteDisconnected(), T),
        (http.client.IncompleteRead(b""), T),
        (http.client.InvalidURL(), P),
        (TimeoutError(), T),
        (asyncio.TimeoutError(), T),
        (concurrent.futures.TimeoutError(), T),
        (subprocess.TimeoutExpired("x", 1), T),
        (MemoryError(), T),
        (OSError(errno.ENOSPC, "full"), T),
        (OSError(errno.EDQUOT, "quota"), T),
        (OSError(errno.EMFILE, "files"), T),
        (BlockingIOError(errno.EAGAIN, "again"), T),
        (FileNotFoundError(errno.ENOENT, "none"), P),
        (PermissionError(errno.EACCES, "no"), P),
        (IsADirectoryError(errno.EISDIR, "dir"), P),
        (sqlite3.OperationalError("database is locked"), T),
        (sqlite3.OperationalError("database table is locked: jobs"), T),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), P),
        (smtplib.SMTPResponseException(451, b"later"), T),
        (smtplib.SMTPAuthenticationError(535, b"no"), P),
        (smtplib.SMTPServerDisconnected(), T),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_errors_of_the_engine_and_the_standard_library_are_known(exc: BaseException, expected: ErrorType) -> None:
    verdict = classify(exc)
    assert verdict.error_type is expected
    assert verdict.reason != "no rule knows this error"


@pytest.mark.parametrize(
    "exc", [ValueError("x"), TypeError(), KeyError("x"), AttributeError(), RuntimeError(), Exception(), OSError("x")]
)
def test_an_error_that_no_rule_knows_is_transient(exc: Exception) -> None:
    assert classify(exc) == Verdict(T, None, "no rule knows this error")


def test_an_error_type_is_written_as_its_value() -> None:
    assert f"{T}" == "Transient"
    assert ErrorType("Permanent") is P


# HTTP ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_a_server_that_may_answer_later_is_transient(status: int) -> None:
    assert classify(http_error(status)).error_type is T


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 451])
def test_a_server_that_refuses_is_permanent(status: int) -> None:
    assert classify(http_error(status)) == Verdict(P, None, f"HTTP status {status}")


@pytest.mark.parametrize(
    "attributes",
    [
        {"http_status": 404},
        {"http_status_code": 404},
        {"status_code": 404},
        {"code": 404},
        {"status": 404},
        {"response": SimpleNamespace(status_code=404)},
        {"response": SimpleNamespace(status=404)},
        {"response": {"ResponseMetadata": {"HTTPStatusCode": 404}}},
    ],
)
def test_the_status_is_found_wherever_a_library_keeps_it(attributes: dict[str, Any]) -> None:
    assert classify(with_data(Exception(), **attributes)).error_type is P


@pytest.mark.parametrize("code", [1, 200, 302, 1404, "404", None, True, "gkpj"])
def test_a_code_that_is_no_http_error_says_nothing(code: Any) -> None:
    assert classify(with_data(Exception(), code=code)).reason == "no rule knows this error"


def test_a_status_says_more_than_the_class_that_carries_it() -> None:
    assert classify(with_data(ConnectionError(), status_code=400)).error_type is P


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("1.5", 1.5),
        ("0", None),
        ("-5", None),
        ("Wed, 01 May 2024 12:02:00 GMT", 120.0),
        ("Wed, 01 May 2024 14:02:00 +0200", 120.0),
        ("Wed, 01 May 2024 11:00:00 GMT", None),
        ("999999999", MAX_RETRY_AFTER),
        ("soon", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_is_understood_in_seconds_and_as_a_date(header: str, seconds: float | None) -> None:
    assert classify(http_error(503, {"Retry-After": header}), now=NOW).retry_after == seconds


@pytest.mark.parametrize(
    "attributes",
    [
        {"retry_after": 7},
        {"retry_after": "7"},
        {"retry_after": timedelta(seconds=7)},
        {"headers": {"retry-after": "7"}},
        {"response": SimpleNamespace(headers={"Retry-After": "7"})},
        {"response": {"ResponseMetadata": {"HTTPHeaders": {"retry-after": "7"}}}},
    ],
)
def test_retry_after_is_found_wherever_a_library_keeps_it(attributes: dict[str, Any]) -> None:
    assert classify(with_data(Exception(), **attributes)).retry_after == 7.0


def test_a_permanent_error_has_no_retry_after() -> None:
    assert classify(http_error(404, {"Retry-After": "5"})).retry_after is None


def test_the_handler_s_own_retry_after_is_kept_as_it_is() -> None:
    assert classify(errors.TransientError(retry_after=0)).retry_after == 0
    assert classify(errors.TransientError(retry_after=5 * MAX_RETRY_AFTER)).retry_after == 5 * MAX_RETRY_AFTER


def test_aws_throttling_is_transient_though_its_status_is_400() -> None:
    response = {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    assert classify(with_data(Exception(), response=response)).error_type is T


# Databases -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["pymysql.err", "MySQLdb", "mysql.connector.errors"])
@pytest.mark.parametrize(
    ("code", "expected"),
    [*((c, T) for c in (1213, 1205, 1020, 2006, 2013, 2002, 2003, 1040)), *((c, P) for c in (1062, 1045, 1452))],
)
def test_mysql_codes_are_known_for_every_driver(package: str, code: int, expected: ErrorType) -> None:
    error = foreign(f"{package}.OperationalError")
    assert classify(error(code, "message")).error_type is expected
    assert classify(with_data(error("message"), errno=code)).error_type is expected


def test_a_number_in_somebody_else_s_error_is_no_mysql_code() -> None:
    assert classify(Exception(1062, "message")).reason == "no rule knows this error"


@pytest.mark.parametrize("attribute", ["sqlstate", "pgcode"])
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        *((s, T) for s in ("40001", "40P01", "55P03", "57P01", "57P02", "57P03", "08006", "08001", "53300", "53100")),
        *((s, P) for s in ("23505", "22001", "28P01", "42501")),
    ],
)
def test_postgresql_states_are_known(attribute: str, state: str, expected: ErrorType) -> None:
    assert classify(with_data(Exception(), **{attribute: state})).error_type is expected


def test_an_unknown_state_leaves_the_decision_to_the_class() -> None:
    error = foreign("psycopg.errors.OperationalError")
    assert classify(with_data(error(), sqlstate="XX000")).error_type is T


def test_sqlalchemy_s_original_error_decides() -> None:
    outer = foreign("sqlalchemy.exc.DBAPIError")
    assert classify(with_data(outer(), orig=foreign("pymysql.err.OperationalError")(1062, "dup"))).error_type is P
    assert classify(with_data(outer(), orig=with_data(Exception(), sqlstate="40001"))).error_type is T
    assert classify(with_data(outer(), connection_invalidated=True)).reason == "lost connection"


# Frappe and the validators, by name ----------------------------------------------------------------------------------

VALIDATION = foreign("frappe.exceptions.ValidationError", http_status_code=417)


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        *((n, 417, P) for n in ("MandatoryError", "LinkValidationError", "DataError", "UniqueValidationError")),
        ("DoesNotExistError", 404, P),
        *((n, 417, T) for n in ("TimestampMismatchError", "RateLimitExceededError", "DocumentLockedError")),
        ("InReadOnlyMode", 503, T),
    ],
)
def test_frappe_s_validation_errors_are_known_by_name(name: str, status: int, expected: ErrorType) -> None:
    assert classify(foreign(f"frappe.exceptions.{name}", VALIDATION, http_status_code=status)()).error_type is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((n, P) for n in ("PermissionError", "AuthenticationError", "NameError")),
        *((n, T) for n in ("QueryDeadlockError", "QueryTimeoutError", "TooManyRequestsError")),
        ("RetryBackgroundJobError", T),
    ],
)
def test_frappe_s_other_errors_are_known_by_name(name: str, expected: ErrorType) -> None:
    assert classify(foreign(f"frappe.exceptions.{name}")()).error_type is expected


def test_an_app_s_own_subclass_of_a_frappe_error_is_judged_like_it() -> None:
    assert classify(foreign("erpnext.stock.NegativeStockError", VALIDATION)()).reason == "frappe.ValidationError"


@pytest.mark.parametrize(
    "dotted",
    [
        "pydantic_core._pydantic_core.ValidationError",
        "pydantic.error_wrappers.ValidationError",
        "marshmallow.exceptions.ValidationError",
        "jsonschema.exceptions.ValidationError",
        "django.core.exceptions.ValidationError",
        "django.core.exceptions.PermissionDenied",
        "django.core.exceptions.ObjectDoesNotExist",
        "django.http.response.Http404",
        "job_engine.runner.BadArguments",
    ],
)
def test_validation_and_the_like_are_permanent_for_subclasses_too(dotted: str) -> None:
    base = foreign(dotted, ValueError)
    assert classify(base()).error_type is P
    assert classify(foreign("shop.orders.OrderInvalid", base)()).error_type is P


def test_a_class_of_the_same_name_in_another_package_is_unknown() -> None:
    assert classify(foreign("shop.ValidationError")()).reason == "no rule knows this error"


# The real packages, where they are installed -------------------------------------------------------------------------

INSTALLED: list[tuple[str, str, tuple[Any, ...], ErrorType]] = [
    ("requests", "ConnectionError", (), T),
    ("requests", "ReadTimeout", (), T),
    ("requests", "exceptions.ChunkedEncodingError", (), T),
    ("requests", "exceptions.SSLError", (), T),
    ("requests", "exceptions.MissingSchema", (), P),
    ("urllib3", "exceptions.ProtocolError", (), T),
    ("urllib3", "exceptions.LocationParseError", ("x",), P),
    ("httpx", "ConnectError", ("x",), T),
    ("httpx", "ReadTimeout", ("x",), T),
    ("httpx", "UnsupportedProtocol", ("x",), P),
    ("httpx", "InvalidURL", ("x",), P),
    ("aiohttp", "ServerDisconnectedError", (), T),
    ("aiohttp", "InvalidURL", ("x",), P),
    ("redis", "ConnectionError", (), T),
    ("redis", "TimeoutError", (), T),
    ("redis", "BusyLoadingError", (), T),
    ("redis", "AuthenticationError", (), P),
    ("psycopg", "OperationalError", (), T),
    ("psycopg", "errors.DeadlockDetected", (), T),
    ("psycopg", "errors.SerializationFailure", (), T),
    ("psycopg", "errors.AdminShutdown", (), T),
    ("psycopg", "errors.UniqueViolation", (), P),
    ("pymysql", "OperationalError", (1213, "deadlock"), T),
    ("pymysql", "OperationalError", (2013, "lost"), T),
    ("pymysql", "IntegrityError", (1062, "duplicate"), P),
    ("pymysql", "InterfaceError", (0, ""), T),
    ("sqlalchemy", "exc.TimeoutError", (), T),
    ("sqlalchemy", "exc.NoResultFound", (), P),
    ("sqlalchemy", "exc.OperationalError", ("", {}, sqlite3.OperationalError("database is locked")), T),
    ("sqlalchemy", "exc.IntegrityError", ("", {}, sqlite3.IntegrityError("UNIQUE")), P),
    ("django", "core.exceptions.ValidationError", ("x",), P),
    ("django", "http.Http404", (), P),
]


@pytest.mark.parametrize(("package", "path", "args", "expected"), INSTALLED, ids=lambda v: str(v)[:40])
def test_errors_of_real_packages_are_recognised(
    package: str, path: str, args: tuple[Any, ...], expected: ErrorType
) -> None:
    pytest.importorskip(package)
    module, _, name = f"{package}.{path}".rpartition(".")
    verdict = classify(getattr(importlib.import_module(module), name)(*args))
    assert verdict.error_type is expected
    assert verdict.reason != "no rule knows this error"


def test_a_response_of_requests_is_read() -> None:
    requests = pytest.importorskip("requests")
    response = requests.Response()
    response.status_code, response.headers["Retry-After"] = 429, "30"
    with pytest.raises(requests.HTTPError) as caught:
        response.raise_for_status()
    assert classify(caught.value) == Verdict(T, 30.0, "HTTP status 429")


def test_a_response_of_requests_with_an_error_status_is_falsy_and_still_read() -> None:
    requests = pytest.importorskip("requests")
    response = requests.Response()
    response.status_code = 404
    assert not response
    assert classify(requests.HTTPError(response=response)).error_type is P


def test_a_response_of_httpx_is_read() -> None:
    httpx = pytest.importorskip("httpx")
    response = httpx.Response(503, headers={"retry-after": "9"}, request=httpx.Request("GET", "https://x"))
    with pytest.raises(httpx.HTTPStatusError) as caught:
        response.raise_for_status()
    assert classify(caught.value) == Verdict(T, 9.0, "HTTP status 503")


# The application's own rules -----------------------------------------------------------------------------------------


class Flaky(ValueError):
    pass


def test_an_application_s_rule_wins_over_the_built_in_ones_and_covers_subclasses() -> None:
    mine = Classifier()
    mine.register(ValueError, P)
    mine.register(ConnectionError, "Permanent")
    assert mine.classify(Flaky()).error_type is P
    assert mine.classify(ConnectionResetError()).error_type is P
    assert classify(Flaky()).error_type is T


def test_the_newest_rule_wins() -> None:
    mine = Classifier()
    mine.register(ValueError, P)
    mine.register(Flaky, T)
    assert mine.classify(Flaky()).error_type is T
    mine.register(ValueError, P)
    assert mine.classify(Flaky()).error_type is P


@pytest.mark.parametrize("name", ["shop.errors.Closed", "shop.Closed"])
def test_a_rule_may_name_a_class_without_importing_it(name: str) -> None:
    mine = Classifier()
    mine.register(name, P)
    assert mine.classify(foreign("shop.errors.Closed")()).error_type is P
    assert mine.classify(foreign("other.errors.Closed")()).error_type is T


def test_a_builtin_error_needs_no_package() -> None:
    mine = Classifier()
    mine.register("KeyError", P)
    assert mine.classify(KeyError()).error_type is P


def test_a_rule_may_be_a_function() -> None:
    mine = Classifier()
    mine.register(lambda exc: Verdict(T, 42.0, "mine") if "later" in str(exc) else None)
    mine.register(lambda exc: "never" in str(exc), P)
    assert mine.classify(Exception("later")) == Verdict(T, 42.0, "mine")
    assert mine.classify(Exception("never")).error_type is P
    assert mine.classify(Exception("x")).reason == "no rule knows this error"


def test_a_rule_that_fails_is_passed_over_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    mine = Classifier()
    mine.register(lambda exc: 1 / 0)  # type: ignore[arg-type,return-value]
    with caplog.at_level(logging.ERROR):
        assert mine.classify(FileNotFoundError()).error_type is P
    assert "was passed over" in caplog.text


@pytest.mark.parametrize("match", ["ValidationError", "print", 5, int, None])
def test_a_rule_that_can_match_nothing_is_refused(match: Any) -> None:
    with pytest.raises(errors.InvalidJob):
        Classifier().register(match, P)


def test_a_class_needs_an_error_type() -> None:
    with pytest.raises(errors.InvalidJob, match="Say what"):
        Classifier().register(ValueError)


def test_a_job_type_s_overrides_come_first_and_leave_others_alone() -> None:
    shared = Classifier()
    special = shared.with_overrides(transient=[FileNotFoundError], permanent=["builtins.ValueError"])
    shared.register(ValueError, T)
    shared.register(KeyError, P)
    assert special.classify(FileNotFoundError()).error_type is T
    assert special.classify(ValueError()).error_type is P
    assert special.classify(KeyError()).error_type is P  # registered later, and still seen
    assert shared.classify(FileNotFoundError()).error_type is P


@pytest.mark.parametrize(("transient", "permanent"), [([Flaky], [Exception]), ([Exception], [Flaky])])
def test_the_nearer_class_decides_between_a_job_type_s_lists(transient: list[Any], permanent: list[Any]) -> None:
    special = Classifier().with_overrides(transient, permanent)
    assert special.classify(Flaky()).error_type is (T if Flaky in transient else P)
    assert special.classify(OSError()).error_type is (P if Flaky in transient else T)


def test_one_class_in_both_lists_is_refused() -> None:
    with pytest.raises(errors.InvalidJob, match="transient and as permanent"):
        Classifier().with_overrides([ValueError], ["ValueError"])


def test_no_rule_overrules_what_the_handler_says() -> None:
    special = Classifier().with_overrides(transient=[Exception])
    assert special.classify(errors.PermanentError()).error_type is P
    assert Classifier().with_overrides(permanent=[Exception]).classify(errors.TransientError()).error_type is T


def test_an_error_whose_attributes_fail_is_still_judged() -> None:
    class Hostile(Exception):
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __str__(self) -> str:
            raise RuntimeError

    assert classify(Hostile()).error_type is T


def test_the_cause_of_an_error_is_not_looked_at() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = FileNotFoundError()
    assert classify(error).error_type is T
