"""Desk in Chromium, in a window of one size, light or dark, and files that are small."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

URL = os.environ["JOB_ENGINE_PICTURES_URL"]
IMAGES = Path(__file__).parents[3] / "docs" / "images"
SIZE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
LIMIT = 60_000  # milliseconds
COLORS = 256
# Nothing that moves by itself, and no welcome.
STILL = """*, *::before, *::after { animation: none !important; transition: none !important; }
    #alert-container, .onboarding-widget-box { display: none !important; }"""


@contextmanager
def desk(user: str, password: str, size: dict[str, int] = SIZE) -> Iterator[Any]:
    """A page of somebody who is logged in."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["JOB_ENGINE_PICTURES_CHROMIUM"], args=["--no-sandbox"]
        )
        context = browser.new_context(
            viewport=size, locale="en-US", timezone_id="America/New_York", reduced_motion="reduce"
        )
        answer = context.request.post(f"{URL}/api/method/login", form={"usr": user, "pwd": password})
        if not answer.ok:
            raise SystemExit(f"{user} cannot log in to {URL}: {answer.status}")
        page = context.new_page()
        page.set_default_timeout(LIMIT)
        try:
            yield page
        finally:
            browser.close()


def open_desk(page: Any, path: str, theme: str, ready: str) -> None:
    """Open a page of Desk and wait until it shows what `ready` (JavaScript) says."""
    page.goto(f"{URL}/app/{path}")
    page.wait_for_function(f"() => window.frappe && frappe.boot && ({ready})")
    set_theme(page, theme)


def until_drawn(page: Any) -> None:
    """A chart begins with bars of no height. Wait until each has some, and they no longer grow."""
    page.wait_for_function(
        """() => {
            const charts = [...document.querySelectorAll('.frappe-chart')].filter((chart) => chart.querySelector('.bar'));
            const heights = charts.map((chart) => [...chart.querySelectorAll('.bar')].map((bar) => bar.getAttribute('height')));
            const now = JSON.stringify(heights);
            const before = window.je_heights;
            window.je_heights = now;
            return now === before && heights.length && heights.every((bars) => bars.some((height) => Number(height) > 2));
        }""",
        polling=700,
    )


def set_theme(page: Any, theme: str) -> None:
    page.evaluate("theme => document.documentElement.setAttribute('data-theme', theme)", theme)
    page.add_style_tag(content=STILL)
    page.evaluate("() => document.activeElement && document.activeElement.blur()")


def shot(page: Any, **options: Any) -> Image.Image:
    return Image.open(BytesIO(page.screenshot(**options))).convert("RGB")


def save(image: Image.Image, name: str) -> None:
    """As a PNG of few colours: a page of text has no more."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    file = IMAGES / f"{name}.png"
    image.quantize(COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.relative_to(IMAGES.parents[1])}: {file.stat().st_size // 1024} KB")
