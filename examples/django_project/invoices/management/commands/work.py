from typing import Any

from django.core.management.base import BaseCommand
from mysite.jobs import engine

from job_engine import logs


class Command(BaseCommand):
    help = "Run background jobs until SIGTERM or Ctrl-C."

    def handle(self, *args: Any, **options: Any) -> None:
        logs.configure()
        engine().run_forever()
