"""What the engine knows about errors by itself, as tables. `classify_rules` reads them.

Third-party errors are known by the names of their classes, so none of those packages is imported. A name is the
top-level package and the class ("requests.ConnectionError", wherever inside requests it is defined) and counts for
subclasses; the nearest class decides.
"""

from __future__ import annotations

import errno
from enum import Enum


class ErrorType(str, Enum):
    TRANSIENT = "Transient"  # may succeed later: the job is retried
    PERMANENT = "Permanent"  # trying again cannot help: the job goes to Dead Letter

    def __str__(self) -> str:
        return self.value


T, P = ErrorType.TRANSIENT, ErrorType.PERMANENT


def _rows(error_type: ErrorType, package: str, names: str) -> dict[str, ErrorType]:
    return {f"{package}.{name}": error_type for name in names.split()}


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Names that decide before anything else is looked at. Frappe's stand here because every frappe.ValidationError carries
# the HTTP status 417, whatever it means.
DECISIVE = {
    **_rows(P, "job_engine", "InvalidJob UndecodablePayload BadArguments JobNotFound"),
    **_rows(T, "job_engine", "JobTimeout StoreUnavailable LeaseLost JobLeaseLost"),
    **_rows(P, "frappe", "ValidationError PermissionError AuthenticationError SessionExpired DoesNotExistError"),
    **_rows(P, "frappe", "PageDoesNotExistError DataError FrappeTypeError CSRFTokenError NameError LinkExpired"),
    **_rows(P, "frappe", "UnsupportedMediaType"),
    **_rows(T, "frappe", "TimestampMismatchError DocumentLockedError QueryDeadlockError QueryTimeoutError"),
    **_rows(T, "frappe", "RateLimitExceededError TooManyRequestsError RetryBackgroundJobError InReadOnlyMode"),
    **_rows(T, "frappe", "SessionStopped OutgoingEmailError LockTimeoutError TooManyWritesError"),
    **_rows(P, "pydantic", "ValidationError"),
    **_rows(P, "pydantic_core", "ValidationError"),
    **_rows(P, "marshmallow", "ValidationError"),
    **_rows(P, "jsonschema", "ValidationError SchemaError"),
    **_rows(P, "msgspec", "ValidationError"),
    **_rows(P, "voluptuous", "Invalid"),
    **_rows(P, "django", "ValidationError PermissionDenied ObjectDoesNotExist Http404"),
    **_rows(P, "jwt", "InvalidTokenError"),
}

# Names that decide where the error itself carried no status or code.
GENERAL = {
    **_rows(T, "builtins", "ConnectionError TimeoutError MemoryError BlockingIOError InterruptedError"),
    **_rows(P, "builtins", "FileNotFoundError PermissionError NotADirectoryError IsADirectoryError"),
    **_rows(T, "socket", "gaierror herror timeout"),
    **_rows(T, "ssl", "SSLError"),
    **_rows(T, "urllib", "URLError"),
    **_rows(T, "http", "HTTPException"),
    **_rows(P, "http", "InvalidURL"),
    **_rows(T, "subprocess", "TimeoutExpired"),
    **_rows(T, "asyncio", "TimeoutError IncompleteReadError"),
    **_rows(T, "concurrent", "TimeoutError"),
    **_rows(T, "smtplib", "SMTPServerDisconnected SMTPConnectError"),
    **_rows(T, "requests", "RequestException"),
    **_rows(P, "requests", "InvalidURL MissingSchema InvalidSchema InvalidHeader"),
    **_rows(T, "urllib3", "HTTPError"),
    **_rows(P, "urllib3", "LocationValueError"),
    **_rows(T, "httpx", "TransportError"),
    **_rows(P, "httpx", "InvalidURL UnsupportedProtocol"),
    **_rows(T, "httpcore", "NetworkError TimeoutException ProtocolError"),
    **_rows(T, "aiohttp", "ClientError"),
    **_rows(P, "aiohttp", "InvalidURL"),
    **_rows(T, "botocore", "HTTPClientError ConnectionError EndpointConnectionError"),
    **_rows(P, "botocore", "NoCredentialsError PartialCredentialsError ParamValidationError"),
    **_rows(T, "redis", "ConnectionError TimeoutError TryAgainError ReadOnlyError ClusterDownError LockError"),
    **_rows(P, "redis", "AuthenticationError AuthorizationError NoPermissionError DataError"),
    **_rows(P, "sqlite3", "IntegrityError DataError"),
    **_rows(T, "sqlalchemy", "TimeoutError OperationalError InterfaceError StaleDataError"),
    **_rows(P, "sqlalchemy", "IntegrityError DataError NoResultFound"),
}
for _driver in ("psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql", "asyncpg"):
    GENERAL |= _rows(T, _driver, "OperationalError InterfaceError")  # without a code: the connection itself
    GENERAL |= _rows(P, _driver, "IntegrityError DataError")

TRANSIENT_HTTP = frozenset({408, 425, 429})  # and every 5xx; any other 4xx is permanent

# https://mariadb.com/kb/en/mariadb-error-code-reference/
MYSQL_CODES: dict[int, tuple[ErrorType, str]] = {
    1020: (T, "the record changed since it was read"),
    1021: (T, "disk full"),
    1037: (T, "out of memory"),
    1040: (T, "too many connections"),
    1053: (T, "server is shutting down"),
    1158: (T, "network read error"),
    1159: (T, "network read timeout"),
    1160: (T, "network write error"),
    1161: (T, "network write timeout"),
    1203: (T, "too many connections of this user"),
    1205: (T, "lock wait timeout"),
    1213: (T, "deadlock"),
    1290: (T, "server is read-only"),
    1317: (T, "query interrupted"),
    1927: (T, "connection was killed"),
    1969: (T, "statement timeout"),
    2002: (T, "cannot connect"),
    2003: (T, "cannot connect"),
    2006: (T, "server has gone away"),
    2013: (T, "lost connection"),
    2055: (T, "lost connection"),
    3024: (T, "statement timeout"),
    4031: (T, "disconnected for inactivity"),
    1044: (P, "access denied to the database"),
    1045: (P, "access denied"),
    1142: (P, "permission denied"),
    1143: (P, "permission denied"),
    1048: (P, "a value is missing"),
    1062: (P, "duplicate entry"),
    1264: (P, "value out of range"),
    1366: (P, "incorrect value"),
    1406: (P, "value too long"),
    1451: (P, "row is referred to"),
    1452: (P, "row referred to does not exist"),
}
MYSQL_PACKAGES = frozenset({"pymysql", "MySQLdb", "mysql"})

# https://www.postgresql.org/docs/current/errcodes-appendix.html; a whole code is looked up before its class
SQLSTATES: dict[str, tuple[ErrorType, str]] = {
    "40001": (T, "serialization failure"),
    "40P01": (T, "deadlock"),
    "55P03": (T, "lock not available"),
    "57014": (T, "statement timeout"),
    "57P01": (T, "server is shutting down"),
    "57P02": (T, "server crashed"),
    "57P03": (T, "server is starting"),
    "42501": (P, "permission denied"),
    "08": (T, "connection failure"),
    "53": (T, "server is out of resources"),
    "22": (P, "data is not valid"),
    "23": (P, "integrity constraint"),
    "28": (P, "authentication failed"),
}

SQLITE_MESSAGES = ("database is locked", "table is locked", "busy", "database or disk is full", "disk i/o error")

# Throttling that AWS reports with HTTP status 400.
AWS_THROTTLING = _set(
    "Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException"
    " RequestLimitExceeded TooManyRequestsException ProvisionedThroughputExceededException SlowDown"
    " TransactionInProgressException BandwidthLimitExceeded LimitExceededException PriorRequestNotComplete"
    " RequestTimeout RequestTimeoutException"
)

TRANSIENT_ERRNOS = frozenset(
    getattr(errno, name)
    for name in _set(
        "ENOSPC EDQUOT EAGAIN EMFILE ENFILE ENOMEM ENOBUFS EINTR EBUSY EIO ESTALE ETIMEDOUT EPIPE ECONNRESET"
        " ECONNREFUSED ECONNABORTED ENETDOWN ENETUNREACH ENETRESET EHOSTDOWN EHOSTUNREACH"
    )
    if hasattr(errno, name)  # not every platform has all of them
)
