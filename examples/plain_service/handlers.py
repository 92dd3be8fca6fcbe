"""What the shop does in the background."""

from __future__ import annotations

from job_engine import JobContext, PermanentError, job


@job("send_receipt", timeout="Quick", retry="quick")
def send_receipt(ctx: JobContext, order_id: int) -> dict[str, str]:
    found = ctx.connection.execute("SELECT customer, article FROM orders WHERE id = ?", (order_id,)).fetchone()
    if found is None:
        raise PermanentError(f"There is no order {order_id}.")
    customer, article = found
    text = f"Receipt for order {order_id}: {article}, {customer}"
    ctx.connection.execute("INSERT INTO receipts (order_id, text) VALUES (?, ?)", (order_id, text))
    # A real receipt goes to a mail service as well: pass it ctx.effect_key, so that a second attempt is recognised there.
    ctx.logger.info("Receipt for order %s is ready", order_id)
    return {"receipt": text}
