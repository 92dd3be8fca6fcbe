"""The animation: a job runs, fails, is retried by hand, goes on where it stopped, and completes. Nothing of it is played."""

from __future__ import annotations

from typing import Any

from PIL import Image

from pictures import browsing

WINDOW = {"width": 1100, "height": 620}
PARAMS = {"file": "orders-week.csv", "rows": 12000, "outage_at": 5, "seconds": 16.0}
# Not by frappe.call, which does not know that 202 is a success.
SUBMIT = """async (job) => {
    const answer = await fetch("/api/method/job_engine.api.submit_job", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Frappe-CSRF-Token": frappe.csrf_token },
        body: JSON.stringify(job),
    });
    return (await answer.json()).message.name;
}"""
WIDTH = 880  # of the animation; the window is larger, as Desk needs its room
COLORS = 96
SHORT, LONG = 700, 2200  # milliseconds that a frame stays


def take(page: Any) -> None:
    page.set_viewport_size(WINDOW)
    browsing.open_desk(page, "background-job", "light", "frappe.csrf_token && window.job_engine?.track")
    name = page.evaluate(SUBMIT, {"job_type": "import_orders", "organization": "Harbour Books", "params": PARAMS})
    page.evaluate(
        "(name) => { frappe.set_route('Form', 'Background Job', name); }", name
    )  # quicker than to load Desk again
    frames: list[tuple[Image.Image, int]] = []
    _until(page, "Running")
    frames += _while_running(page, 3)
    _until(page, "Dead Letter")
    frames.append((_frame(page), LONG))
    page.locator(".page-actions:visible button:text-is('Retry'):visible").first.click()
    confirm = page.locator(".modal.show .btn-modal-primary:visible")
    confirm.wait_for()
    frames.append((_frame(page), SHORT))
    confirm.click()
    _until(page, "Running")
    frames += _while_running(page, 2)
    _until(page, "Completed")
    frames.append((_frame(page), LONG))
    page.set_viewport_size(browsing.SIZE)
    _save(frames)


def _until(page: Any, status: str) -> None:
    page.wait_for_function("(status) => window.cur_frm?.je_form?.job?.status === status", arg=status)


def _while_running(page: Any, n: int) -> list[tuple[Image.Image, int]]:
    """A frame each time that the bar has moved."""
    frames = []
    for _ in range(n):
        frames.append((_frame(page), SHORT))
        now = page.evaluate(_BAR)
        page.wait_for_function(f"(before) => ({_BAR})() !== before", arg=now)
    return frames


_BAR = "() => document.querySelector('.je-job [role=progressbar]')?.getAttribute('aria-valuenow') || 'gone'"


def _frame(page: Any) -> Image.Image:
    browsing.set_theme(page, "light")
    taken = browsing.shot(page)
    return taken.resize((WIDTH, round(taken.height * WIDTH / taken.width)), Image.Resampling.LANCZOS)


def _save(frames: list[tuple[Image.Image, int]]) -> None:
    images = [image.quantize(COLORS, dither=Image.Dither.NONE) for image, _ in frames]
    file = browsing.IMAGES / "story.gif"
    images[0].save(
        file, save_all=True, append_images=images[1:], duration=[ms for _, ms in frames], loop=0, optimize=True
    )
    print(f"docs/images/story.gif: {len(images)} frames, {file.stat().st_size // 1024} KB")
