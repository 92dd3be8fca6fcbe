"""As small as a Django project can be. Everything about jobs is in JOB_ENGINE_URL."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
DATABASE = Path(os.environ.get("DJANGO_DB", BASE_DIR / "mysite.db"))

SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "only-for-this-example")
DEBUG = os.environ.get("DJANGO_DEBUG") == "1"
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "mysite.urls"
INSTALLED_APPS = ["invoices"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATABASE, "OPTIONS": {"timeout": 15}}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True

# The same database as DATABASES["default"]: a job can only share a transaction with data beside it.
JOB_ENGINE_URL = f"sqlite:///{DATABASE}"
