"""The standalone home: a database by its URL, job types from a module."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from job_engine.cli import say
from job_engine.cli.home import NoTables, WorkOrders
from job_engine.cli.waiting import when_available
from job_engine.core.errors import JobEngineError, StoreUnavailable
from job_engine.core.redact import redact_text
from job_engine.settings import Settings

if TYPE_CHECKING:
    from job_engine.doctor import Finding
    from job_engine.engine import Engine


DEFAULT_URL = "sqlite:///jobs.db"


class StandaloneHome:
    """Without a URL it is a file in the current folder; that is said as soon as it matters."""

    def __init__(self, url: str | None, app: str | None, settings: Settings, debug: bool = False):
        self.debug = debug
        self._url = url or DEFAULT_URL
        self._by_default = not url
        self._app = app
        self._settings = settings
        self._engine: Engine | None = None
        self._is_open = False

    def engine(self, create: bool = False) -> Engine:
        engine = self.unopened_engine()
        if not self._is_open:
            self._open(engine, create)
            self._is_open = True
        return engine

    def unopened_engine(self) -> Engine:
        if self._engine is None:
            from job_engine.engine import Engine
            from job_engine.store.sql import SqlStore
            from job_engine.store.url import dialect_for

            if self._by_default:
                say.notice(f"No --db or JOB_ENGINE_DB: using {self._url} in this folder.")
            try:
                dialect = dialect_for(self._url)
            except JobEngineError as error:
                if isinstance(error.__cause__, ImportError):  # the URL is right, its driver is missing
                    raise
                said = str(error).replace(self._url, self.address())
                raise click.BadParameter(said, param_hint="'--db'") from error
            self._engine = Engine(SqlStore(dialect, None, self._settings.lease_seconds), settings=self._settings)
        return self._engine

    def load_types(self) -> None:
        from job_engine.loading import load_app

        try:
            load_app(self._app)
        except JobEngineError:
            raise
        except Exception as error:
            raise JobEngineError(
                f"The application {self._app!r} was found but fails while it is imported: "
                f"{type(error).__name__}: {error}. Try `python -c 'import {self._app}'`, or --debug for the traceback."
            ) from error

    def application(self) -> str | None:
        return self._app

    def address(self) -> str:
        return redact_text(self._url)

    def actor(self) -> str:
        try:
            return getpass.getuser()
        except (KeyError, OSError, ImportError):  # a container's user may have a number and no name
            return f"uid {os.getuid()}"

    def work(self, orders: WorkOrders) -> None:
        from job_engine.supervisor import Supervisor

        if self._app is None:
            raise click.UsageError(
                "Workers need your job types: name the module that has your @job functions with --app or "
                "JOB_ENGINE_APP. Without it every job would end in Dead Letter, as one of an unknown type."
            )
        self.load_types()
        if not len(self.unopened_engine().registry):
            raise click.UsageError(
                f"The application {self._app!r} was imported and registers no job type, so that every job would end in Dead "
                f'Letter. Name the module that has the @job functions, such as {self._app}.jobs; each is written @job("name").'
            )
        engine = when_available(lambda: self.engine(create=True))
        Supervisor(
            engine,
            self._url,
            self._app,
            orders.processes,
            orders.queues,
            orders.poll_seconds,
            orders.log_format,
            orders.log_level,
        ).run()

    def examine(self) -> Iterator[Finding]:
        from job_engine.doctor import examine

        return examine(self.unopened_engine(), self.load_types, self.application())

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    # Opening

    def _open(self, engine: Engine, create: bool) -> None:
        store = engine.store
        path = getattr(store.dialect, "path", None)  # SQLite would make an empty file of whatever it is asked for
        if not create and path is not None and not Path(path).exists():
            raise self._no_tables()
        self._connect(engine)
        with store.session() as session:
            if not create and not store.dialect.has_table(session, "meta"):
                raise self._no_tables()
        store.create_tables()  # where they are of an older version, they are brought up to date

    def _connect(self, engine: Engine) -> None:
        """Whatever a driver says when it cannot connect (no such host, wrong password, no database): it is one case."""
        try:
            with engine.store.session():
                pass
        except StoreUnavailable:
            raise
        except Exception as error:
            said = error if isinstance(error, JobEngineError) else f"{type(error).__name__}: {error}"
            raise StoreUnavailable(f"{self.address()} cannot be opened: {said}") from error

    def _no_tables(self) -> NoTables:
        return NoTables(
            f"There are no jobs at {self.address()}: it has no Job Engine tables. Is it the database you mean (--db)? "
            "If so, `job-engine init` makes them."
        )
