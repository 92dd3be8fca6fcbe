"""The shop: an order and the job that follows from it are written in one transaction."""

from __future__ import annotations

import os
import sqlite3
import sys

import handlers  # noqa: F401 - registers the job types

from job_engine import Engine, Job

PATH = os.environ.get("SHOP_DB", "shop.db")
TABLES = """
CREATE TABLE IF NOT EXISTS stock (article TEXT PRIMARY KEY, amount INTEGER NOT NULL CHECK (amount >= 0));
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, article TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS receipts (order_id INTEGER PRIMARY KEY, text TEXT NOT NULL);
INSERT OR IGNORE INTO stock VALUES ('tea', 3), ('coffee', 3);
"""


def open_shop() -> tuple[sqlite3.Connection, Engine]:
    engine = Engine.open(f"sqlite:///{PATH}")
    connection = sqlite3.connect(PATH)
    connection.executescript(TABLES)
    return connection, engine


def order(connection: sqlite3.Connection, engine: Engine, customer: str, article: str) -> Job:
    with connection:  # commits at the end, or rolls back order, job and stock together
        order_id = connection.execute(
            "INSERT INTO orders (customer, article) VALUES (?, ?)", (customer, article)
        ).lastrowid
        job = engine.enqueue("send_receipt", {"order_id": order_id}, connection=connection)
        connection.execute("UPDATE stock SET amount = amount - 1 WHERE article = ?", (article,))
    return job


def main(arguments: list[str]) -> None:
    connection, engine = open_shop()
    match arguments:
        case ["order", customer, article]:
            try:
                print(f"Ordered. Job {order(connection, engine, customer, article).name} will send the receipt.")
            except sqlite3.IntegrityError:
                sys.exit(f"There is no {article} left; nothing was ordered.")
        case ["receipts"]:
            for (text,) in connection.execute("SELECT text FROM receipts ORDER BY order_id"):
                print(text)
        case _:
            sys.exit("Usage: shop.py order CUSTOMER ARTICLE, or shop.py receipts")


if __name__ == "__main__":
    main(sys.argv[1:])
