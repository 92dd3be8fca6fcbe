"""For `job-engine --app mysite.worker`: sets Django up, which imports every app's jobs."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
django.setup()
