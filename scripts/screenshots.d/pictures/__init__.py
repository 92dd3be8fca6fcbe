"""The pictures of README and docs, taken from a seeded site. `scripts/screenshots` starts this with what it needs."""
