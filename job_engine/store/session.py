"""One DB-API connection, spoken to in one dialect."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from job_engine.core.errors import StoreUnavailable
from job_engine.store.dialect import Dialect


class Session:
    __slots__ = ("_cursor", "_posted", "_posts", "adopted", "begin_seconds", "connection", "dialect")

    def __init__(self, dialect: Dialect, connection: Any, adopted: bool = False, posts: bool = False):
        self.dialect = dialect
        self.connection = connection
        self.adopted = adopted  # somebody else's, set up in their way
        self.begin_seconds = 0.0  # how long the last transaction had to wait for its beginning
        self._cursor = dialect.cursor(connection)
        self._posts = posts  # the connection takes several statements at once, and nobody else speaks on it
        self._posted: list[str] = []

    def execute(self, template: str, params: Sequence[Any] = ()) -> Any:
        return self._send(self.dialect.sql(template), params)

    def post(self, template: str, params: Sequence[Any] = ()) -> None:
        """Execute it, if possible in one round trip with the next statement; where it fails, that one does."""
        self._post(self.dialect.sql(template), params)

    def _send(self, sql: str, params: Sequence[Any] | None) -> Any:
        try:
            if self._posted:
                self._send_posted(self._cursor.mogrify(sql, params))
            else:
                self._cursor.execute(sql, params)
        except Exception as error:
            raise self.translated(error) from error
        return self._cursor

    def _post(self, sql: str, params: Sequence[Any] | None) -> None:
        if self._posts:
            self._posted.append(self._cursor.mogrify(sql, params))
        else:
            self._send(sql, params)

    def _send_posted(self, *last: str) -> None:
        statements = [*self._posted, *last]
        self._posted.clear()
        self._cursor.execute(";".join(statements))
        for _ in statements[1:]:
            self._cursor.nextset()

    def _answers_of_posted(self) -> Iterator[Sequence[tuple[Any, ...]]]:
        statements, self._posted = self._posted, []
        self._cursor.execute(";".join(statements))
        yield self._cursor.fetchall()
        for _ in statements[1:]:
            self._cursor.nextset()
            yield self._cursor.fetchall()

    def rows(self, template: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.execute(template, params).fetchall()  # type: ignore[no-any-return]

    def row(self, template: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        return self.execute(template, params).fetchone()  # type: ignore[no-any-return]

    def answers(self, *questions: tuple[str, Sequence[Any]]) -> list[Sequence[tuple[Any, ...]]]:
        """The rows that answer each of them, if possible in one round trip."""
        if not self._posts:
            return [self.rows(*question) for question in questions]
        posted = len(self._posted)
        for template, params in questions:
            self.post(template, params)
        try:
            return list(self._answers_of_posted())[posted:]
        except Exception as error:
            raise self.translated(error) from error

    def value(self, template: str, params: Sequence[Any] = ()) -> Any:
        row = self.row(template, params)
        return None if row is None else row[0]

    def column(self, template: str, params: Sequence[Any] = ()) -> list[Any]:
        return [row[0] for row in self.rows(template, params)]

    def change(self, template: str, params: Sequence[Any] = ()) -> int:
        """Execute and tell how many rows it touched."""
        return self.execute(template, params).rowcount  # type: ignore[no-any-return]

    def many(self, template: str, rows: Sequence[Sequence[Any]]) -> int:
        """The same statement for each row of parameters; how many rows were touched in all."""
        try:
            if self._posted:
                self._send_posted()
            self._cursor.executemany(self.dialect.sql(template), rows)
        except Exception as error:
            raise self.translated(error) from error
        return self._cursor.rowcount  # type: ignore[no-any-return]

    def insert(self, statement: str, columns: str, rows: Sequence[Sequence[Any]], alike: int = 0) -> Any:
        """A multi-row INSERT: `statement` is a template with {columns} and {source}; see Dialect.insert_of."""
        return self._send(*self.dialect.insert_of(self.connection, statement, columns, rows, alike))

    def post_insert(self, statement: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        self._post(*self.dialect.insert_of(self.connection, statement, columns, rows))

    # Transactions, on connections of our own

    def begin(self, for_claim: bool = False) -> None:
        started = time.monotonic()
        (self.dialect.begin_claim if for_claim else self.dialect.begin_transaction)(self)
        self.begin_seconds = time.monotonic() - started

    def commit(self) -> None:
        self.execute("COMMIT")

    def post_commit(self) -> None:
        """Commit, if possible in one round trip with what is asked next; at the latest where the transaction ends."""
        self.post("COMMIT")

    def _has_committed(self) -> bool:
        if self._posted[-1:] == ["COMMIT"]:
            self._posted.pop()
            return False
        return not self._posted and not self.dialect.in_transaction(self.connection)

    def rollback(self) -> None:
        """Leave the transaction, also one that the database has ended or that went with its connection."""
        self._posted.clear()
        try:
            if self.dialect.in_transaction(self.connection):
                self.execute("ROLLBACK")
        except Exception:
            pass  # a broken connection has no transaction any more

    @contextmanager
    def transaction(self, for_claim: bool = False) -> Iterator[Session]:
        self.begin(for_claim)
        try:
            yield self
            if not self._has_committed():
                self.commit()
        except BaseException:
            self.rollback()
            raise

    @contextmanager
    def claim_transaction(self) -> Iterator[Session]:
        """A transaction whose commit need not reach the disk: a claim that a power cut undoes is a job still queued."""
        self.dialect.before_claim(self)
        try:
            with self.transaction(for_claim=True):
                yield self
        finally:
            self.dialect.after_claim(self)

    def close(self) -> None:
        try:
            self.connection.close()
        except Exception:  # a broken connection cannot always be closed
            pass

    def translated(self, error: Exception) -> Exception:
        if self.dialect.is_disconnect(error):
            return StoreUnavailable(f"The {self.dialect.name} database cannot be used: {error}")
        return error
