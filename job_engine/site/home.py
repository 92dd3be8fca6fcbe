"""Where the verbs are at home in a Frappe site: `bench --site S job-engine VERB`."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from job_engine.cli.home import NoTables, WorkOrders
from job_engine.core.errors import JobEngineError, StoreUnavailable
from job_engine.doctor import Finding, Level

if TYPE_CHECKING:
    from job_engine.site.console import ConsoleEngine


class SiteHome:
    """Connects to the site when a verb first needs it: `--help` does not."""

    def __init__(self, sites: Sequence[str], debug: bool = False):
        self.debug = debug
        self._sites = sites
        self._engine: ConsoleEngine | None = None

    def engine(self, create: bool = False) -> ConsoleEngine:
        if self._engine is None:
            from job_engine.site.console import ConsoleEngine

            self._connect()
            self._engine = ConsoleEngine.for_runners()
        return self._engine

    def unopened_engine(self) -> ConsoleEngine:
        """The same: which types a site has is asked of its database."""
        return self.engine()

    def load_types(self) -> None:
        """They are loaded with the engine."""
        self.engine()

    def application(self) -> str | None:
        return f"the apps of {self.address()}"

    def address(self) -> str:
        if len(self._sites) != 1:
            named = f"{len(self._sites)} sites were named" if self._sites else "no site was named"
            raise click.UsageError(f"{named}: write bench --site NAME job-engine ...")
        return self._sites[0]

    def actor(self) -> str:
        """Whoever has a shell on the bench is Administrator to Frappe; the history should say more."""
        try:
            return f"{getpass.getuser()} (bench)"
        except (KeyError, OSError, ImportError):  # a container's user may have a number and no name
            return f"uid {os.getuid()} (bench)"

    def work(self, orders: WorkOrders) -> None:
        from job_engine.site.supervisor import SiteSupervisor

        SiteSupervisor(self.engine(), orders).run()

    def examine(self) -> Iterator[Finding]:
        from job_engine.site.doctor import examine

        try:
            engine = self.engine()
        except StoreUnavailable as error:
            yield Finding("database", Level.PROBLEM, str(error), "Start it, and check the site's site_config.json.")
        except JobEngineError as error:
            yield Finding("application", Level.PROBLEM, str(error), "No job can run until that is repaired.")
        else:
            yield from examine(engine)

    def close(self) -> None:
        import frappe

        if self._engine is not None:
            frappe.db.commit()
            self._engine.close()
            self._engine = None
        frappe.destroy()

    # Connecting

    def _connect(self) -> None:
        import frappe

        site = self.address()
        try:
            frappe.init(site=site)
            frappe.connect()
        except frappe.IncorrectSitePath:
            raise JobEngineError(f"There is no site {site} on this bench.") from None
        try:
            installed = frappe.get_installed_apps()
        except (frappe.db.OperationalError, frappe.db.InternalError) as error:
            raise StoreUnavailable(f"The database of {site} cannot be reached: {error}") from error
        if "job_engine" not in installed:
            raise NoTables(f"{site} does not have this app. Install it: bench --site {site} install-app job_engine")
