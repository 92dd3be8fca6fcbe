"""The job systems Job Engine is compared with, each at its sensible best settings."""
