"""For tools that look for a setup.py, as older versions of bench do. Everything is said in pyproject.toml."""

from setuptools import setup

name = "job_engine"

setup()
