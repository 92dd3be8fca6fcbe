"""One file for each verb, named like it; each has a `command`."""
