from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    name = "invoices"

    def ready(self) -> None:
        import invoices.jobs  # noqa: F401 - registers the job types
