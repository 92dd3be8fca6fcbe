"""The engine, opened when it is first used."""

import functools

from django.conf import settings

from job_engine import Engine


@functools.cache
def engine() -> Engine:
    return Engine.open(settings.JOB_ENGINE_URL)
