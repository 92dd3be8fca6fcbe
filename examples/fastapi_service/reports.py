"""What the service does in the background."""

from __future__ import annotations

from job_engine import JobContext, job


@job("monthly_report", timeout="Bulk", priority="Low")
def monthly_report(ctx: JobContext, month: str) -> dict[str, str]:
    for step in range(1, 11):
        ctx.check_canceled()
        ctx.progress(10 * step, f"Page {step} of 10")
    return {"file": f"/reports/{month}.pdf"}
