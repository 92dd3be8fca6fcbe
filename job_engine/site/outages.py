"""The site's connection, in processes that outlive an outage of the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import frappe

from job_engine.core.errors import StoreUnavailable
from job_engine.store.dialect import Dialect


@contextmanager
def told_as_unavailable(dialect: Dialect) -> Iterator[None]:
    """A broken connection of frappe.db is said as one of the engine's own, and replaced at the next statement."""
    try:
        yield
    except StoreUnavailable:
        hang_up()
        raise
    except Exception as error:
        if not dialect.is_disconnect(error):
            raise
        hang_up()
        raise StoreUnavailable(f"The site's database cannot be used: {error}") from error


def hang_up() -> None:
    """Give up the connection; the next statement makes a new one."""
    try:
        frappe.local.db.close()
    except Exception:  # a broken connection cannot always be closed
        frappe.local.db._conn = None
