"""A worker: runs the shop's jobs until SIGTERM or Ctrl-C."""

from __future__ import annotations

from shop import open_shop

from job_engine import logs

if __name__ == "__main__":
    logs.configure()
    connection, engine = open_shop()
    connection.close()
    engine.run_forever()
