"""Import the application's modules, so that their `@job` functions are registered."""

from __future__ import annotations

import importlib
import os
import sys

from job_engine.core.errors import JobEngineError


def load_app(names: str | None) -> None:
    """`names` is one module or several with commas between. The current folder is looked in first, as `python -m` does."""
    if not names:
        return
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    for name in names.split(","):
        try:
            importlib.import_module(name.strip())
        except ModuleNotFoundError as error:
            raise JobEngineError(
                f"The application {name.strip()!r} cannot be imported: {error}. Give the module's dotted name, "
                "and run the command in the folder that contains it (or set PYTHONPATH)."
            ) from error
