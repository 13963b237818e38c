"""The rendered report in a browser."""

import html
import shutil
import time
from pathlib import Path

import pytest

PAGE = Path("reports/index.html")

SEARCH = """() => new Promise((done) => {
    const field = document.getElementById("query");
    if (field) { field.value = "paper:shen2023"; field.dispatchEvent(new Event("input")); }
    requestAnimationFrame(() => setTimeout(done));
})"""
"""Looks for something, where a page has a search, and waits for what is painted then."""

TEXT = "[...document.querySelectorAll('main :is(p, li, dd, figcaption)')].map((one) => one.textContent).join('\\n')"
"""What the page says in words, numbers in tables and pictures apart."""


def visit(chromium, page: Path) -> tuple[float, str]:
    """CPU seconds of the page's thread until a search has an answer in sight, and the page's words."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(0)
    told = context.new_cdp_session(tab)
    told.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.resolve().as_uri())
    tab.evaluate(SEARCH)
    metrics = {one["name"]: one["value"] for one in told.send("Performance.getMetrics")["metrics"]}
    text = tab.evaluate(TEXT)
    context.close()
    return metrics["TaskDuration"], text


@pytest.mark.benchmark(timer=time.perf_counter)
def test_page_over_text(benchmark, judge, small, tmp_path):
    """CPU of the browser's thread for reports/index.html until a search is answered, against a page of the same text
    alone. The time is that of both visits."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None or not PAGE.exists():
        pytest.skip("no Chromium is installed" if browser is None else f"{PAGE} is not there")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        plain, turns = tmp_path / "text.html", []
        words = html.escape(visit(chromium, PAGE)[1])
        plain.write_text(f"<!doctype html><meta charset=utf-8><pre>{words}</pre>", encoding="utf-8")

        def both() -> None:
            turns.append([visit(chromium, page)[0] for page in (PAGE, plain)])

        benchmark.pedantic(both, rounds=2 if small else 7)
        chromium.close()
    page, text = benchmark.extra_info["seconds"] = list(map(min, zip(*turns, strict=True)))
    judge(page / text, "ratio of times", most=12)
