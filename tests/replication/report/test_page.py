# ruff: noqa: RUF001  (typographic signs are meant)
"""The page in a real browser: search, facets, address, order, figures, keyboard, dark, narrow, print, no script,
no network, and axe.

Skipped where there is no Chromium; `.ci/run` installs Debian's.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from stub_page import DRAWN, ROOT, guide_cells, rendered_run, unpacked
from workflow_helpers import patience, unit_seconds

from replication.evidence.verdicts import Verdict
from replication.report.claims_table import row_anchors
from replication.report.spelling import figure_anchor
from replication.report.summary import LEVELS
from replication.studies.guide import analysis as measures
from replication.studies.guide.analysis import (
    AXES,
    CLOSE,
    LABEL_NOISE,
    METHODS,
    NOISES,
    RUN,
    SLIDERS,
    chosen,
    grid,
    guide,
    method_to_use,
)

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 320, "height": 640}
FIGURE = f"#{figure_anchor(DRAWN)}"
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return rendered_run(tmp_path_factory.mktemp("run"), over_nonprivate_at_5=11, ii=0.2, iii=3e-4, random=2)


@pytest.fixture(scope="module")
def claims(folder) -> pd.DataFrame:
    return pd.read_csv(folder / "claims.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if BROWSER is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_of(browser, folder) -> Callable[..., tuple[Page, list[str], list[str]]]:
    """A new page in a window with given properties, the errors of its scripts and what it asks of a network."""
    wait = 1000 * patience(300, 120)

    def opened(**properties) -> tuple[Page, list[str], list[str]]:
        errors, asked = [], []
        page = browser.new_context(**{"viewport": WIDE, **properties}).new_page()
        page.set_default_timeout(wait)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        return page, errors, asked

    return opened


def check_quiet(errors: list[str], asked: list[str]) -> None:
    """Errors of scripts, and whatever is asked of a network, fail the test."""
    assert not errors
    assert all(url.startswith(("file:", "data:", "blob:")) and "." not in Path(url).suffix[5:] for url in asked), asked
    assert {url.split("#")[0].rsplit("/", 1)[-1] for url in asked if url.startswith("file:")} == {"index.html"}


@pytest.fixture
def visit(page_of, folder) -> Iterator[Callable[..., Page]]:
    """Loads the page at an address, in a window with given properties."""
    pages = []

    def opened(address: str = "", **properties) -> Page:
        pages.append(page_of(**properties))
        pages[-1][0].goto(f"{(folder / 'reports/index.html').as_uri()}{address}")
        return pages[-1][0]

    yield opened
    for page, _, _ in pages:
        page.context.close()
    for _, errors, asked in pages:
        check_quiet(errors, asked)


@pytest.fixture(scope="module")
def loaded(page_of, folder) -> Iterator[tuple[Page, list[str], list[str]]]:
    """One page that tests share which change no more of it than the search, the order and the place."""
    page, errors, asked = page_of()
    page.goto((folder / "reports/index.html").as_uri())
    yield page, errors, asked
    page.context.close()


@pytest.fixture
def at(loaded) -> Iterator[Callable[[str], Page]]:
    """Brings the shared page to an address: by default all rows in their first order."""
    page, errors, asked = loaded

    def brought(address: str = "#?") -> Page:
        for place in dict.fromkeys(("#?", address)):
            page.evaluate(
                "place => new Promise((done) => { if (location.hash === place) done(); else { "
                "addEventListener('hashchange', done, {once: true}); location.hash = place; } })",
                place,
            )
        return page

    yield brought
    check_quiet(errors, asked)


def shown(page: Page) -> list[str]:
    """Names of the rows in sight, in their order."""
    return page.evaluate("[...document.querySelectorAll('.every tbody:not([hidden])')].map((body) => body.id)")


def anchors(rows: pd.DataFrame, claims: pd.DataFrame) -> list[str]:
    """Where the page has rows of the claims."""
    return [row_anchors(claims)[one] for one in zip(rows["id"], rows["quantity"], strict=True)]


def search(page: Page, query: str) -> int:
    page.fill("#query", query)
    return len(shown(page))


def hit(page: Page, selector: str) -> bool:
    return page.locator(selector).first.is_visible()


# Search, facets, address, order, download


def having(pattern: str) -> Callable[[pd.DataFrame], pd.Series]:
    """Which rows have a text in any column."""
    return lambda rows: rows.apply(lambda row: bool(re.search(pattern, " ".join(row).lower())), axis=1)


def exponent(letter: str, claimed: str) -> Callable[[pd.DataFrame], pd.Series]:
    """Which rows claim a power of a letter."""
    of_letter = rf"exponent of {letter}(?!\S*\w)"
    return lambda rows: (
        (rows["rule"] == "rate") & (rows["claimed"] == claimed) & rows["quantity"].str.contains(of_letter)
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", lambda rows: rows["id"] != ""),
        ("paper:shen2023", lambda rows: rows["paper"] == "shen2023"),
        ("verdict:holds paper:jain2021", lambda rows: (rows["verdict"] == "HOLDS") & (rows["paper"] == "jain2021")),
        ("kind:rate kind:equals", lambda rows: rows["rule"].isin(["rate", "equals"])),
        ("claim:A-L4.4-start", lambda rows: rows["id"].str.contains("A-L4.4-start")),
        ("place:theorem", lambda rows: rows["place"].str.lower().str.contains("theorem")),
        ('"lemma 4.4"', having(r"lemma 4\.4")),
        ("d^1.5", lambda rows: having(r"(?<![\w.])d\^1\.5(?!\d)")(rows) | exponent("d", "1.5")(rows)),
        ("whose:nobody", lambda rows: rows["id"] == ""),
        ("verdict:hold", lambda rows: rows["id"] == ""),
        ("paper:shen", lambda rows: rows["id"] == ""),
    ],
)
def test_search_finds_the_rows_of_words_and_tokens(at, claims, query, expected):
    """Tokens of one key are alternatives, all else holds together; the number of rows is said, here and above."""
    page = at()
    wanted = anchors(claims[expected(claims)], claims)
    search(page, query)
    assert {*shown(page)} == {*wanted}
    assert page.locator(".shown p").inner_text().startswith(f"Showing {len(wanted)} of {len(claims)} rows")
    page.fill("#search-for", query)
    hits = re.search(r"(\d+) rows?\b", page.locator("#hits p").text_content())
    assert not query or (int(hits[1]) if hits else 0) == len(wanted)
    page.fill("#search-for", "")


def test_letters_find_their_names(at):
    """A Greek letter is its name, and a letter alone is a word."""
    page = at()
    assert search(page, "ε") == search(page, "epsilon") > 0
    assert 0 < search(page, "exponent d") < search(page, "exponent")


def test_facets_count_and_narrow(at, claims):
    """Each says how many rows it would leave; pressing puts its token into the search, pressing again takes it out."""
    page = at()
    facet = page.get_by_role("group", name="Show only this paper")
    counts = claims["paper"].value_counts()
    assert {text.split()[0]: int(text.split()[1]) for text in facet.locator("button").all_inner_texts()} == dict(counts)
    button = facet.get_by_role("button", name="jain2021")
    button.click()
    assert len(shown(page)) == counts["jain2021"] and page.input_value("#query") == "paper:jain2021"
    assert button.get_attribute("aria-pressed") == "true"
    verdicts = page.get_by_role("group", name="Show only this verdict")
    left = claims[claims["paper"] == "jain2021"]["verdict"].value_counts()
    for text in verdicts.locator("button").all_inner_texts():
        assert int(text.split()[1]) == left.get(text.split()[0], 0)
    button.click()
    assert len(shown(page)) == len(claims) and page.input_value("#query") == ""


def test_the_address_holds_the_state(visit):
    """Search and order come back from the address, also when it changes under an open page."""
    page = visit()
    search(page, "paper:shen2023 exponent")
    heading = page.get_by_role("button", name="Measured [95")
    heading.click()
    heading.click()
    order, address = shown(page), "#" + page.url.split("#")[1]
    assert "sort=measured" in address and "order=desc" in address
    again = visit(address)
    assert shown(again) == order and again.input_value("#query") == "paper:shen2023 exponent"
    again.evaluate("location.hash = '#?q=kind%3Aequals'")
    again.wait_for_function("document.querySelector('#query').value === 'kind:equals'")
    assert 0 < len(shown(again)) < len(order)


ANSWERED = """() => window.answered = new Promise((done) => {
    const field = document.getElementById("query");
    field.value = "paper:shen2023";
    field.dispatchEvent(new Event("input"));
    const painted = () => performance.getEntriesByName("first-paint")[0].startTime;
    requestAnimationFrame(() => setTimeout(() => done([painted(), performance.now()])));
})"""
"""Milliseconds from the visit to the first paint, and to the first answer of a search in sight.
The window keeps the promise, which the browser could collect as garbage while it waits."""


def test_the_page_is_there_within_a_second(visit):
    """Painted, and searched: the best of three visits, if pandas imports in half a second. Slower ones have longer."""
    visits = [visit().evaluate(ANSWERED) for _ in range(3)]
    painted, answered = (min(times) / 1000 for times in zip(*visits, strict=True))
    assert painted < answered < max(1, 2 * unit_seconds()), (painted, answered)


def test_a_link_to_a_row_shows_it(visit):
    """Its details open; a search that hides it ends."""
    page = visit()
    name = shown(page)[5]
    search(page, "whose:nobody")
    page.evaluate(f"location.hash = '#{name}'")
    page.wait_for_function(f"!document.getElementById('{name}').hidden")
    assert page.locator(f"[id='{name}'] details").get_attribute("open") is not None
    assert page.locator(f"[id='{name}'] dl").is_visible()
    claim = visit("#claim-A-zCDP")
    assert claim.locator(".every tbody:has(#claim-A-zCDP) dl").is_visible()


def number(text: str) -> float:
    return pd.to_numeric(re.sub("^[<>]= ", "", text), errors="coerce")


@pytest.mark.parametrize(
    ("heading", "value"),
    [
        ("Claim", lambda row: row["place of the row"]),
        ("Quantity", lambda row: row["quantity"]),
        ("Printed or claimed", lambda row: number(row["claimed"])),
        ("Measured", lambda row: number(row["measured"])),
        ("Verdict", lambda row: f"{LEVELS.index(Verdict(row['verdict']).level)}{row['verdict']}"),
    ],
)
def test_a_sorted_table_is_downloaded_in_its_order(at, claims, heading, value):
    """Up, then down, rows without a number last; the rows in sight, with all columns of claims.csv."""
    page = at("#?q=paper:jain2021")
    rows = claims[claims["paper"] == "jain2021"].assign(anchor=lambda table: anchors(table, claims))
    rows = rows.set_index("anchor").loc[shown(page)]
    values = rows.assign(**{"place of the row": range(len(rows))}).apply(value, axis=1)
    assert values.nunique() > 2
    head = page.locator(".every thead th", has=page.get_by_role("button", name=re.compile(f"^{heading}")))
    for order in ("ascending", "descending"):
        while head.get_attribute("aria-sort") != order:
            head.get_by_role("button").click()
        wanted = rows.loc[values.sort_values(ascending=order == "ascending", kind="stable").index]
        assert shown(page) == list(wanted.index)
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        saved = pd.read_csv(download.value.path(), dtype=str, keep_default_na=False)
        assert saved.equals(wanted.reset_index(drop=True))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("is CENTAUR private", "Is CENTAUR private as printed? Yes if neighbours"),
        ("Theorem 4.2 k^5", "privacy: exponent of k"),
        ("logistic", "Can I use logistic loss?"),
        ("sigma_F^2", "E9 jain2021, Section 6"),
        ("what does loose mean", "What does LOOSE mean?"),
        ("centuar private", "“centuar” is nowhere on this page; the nearest word is “centaur”."),
        ("verdct:violated", "There is no token “verdct:”; the nearest is “verdict:”."),
        ("paper:foo", "No row has paper “foo”; the nearest is “"),
        ("docker logistic", "Nothing has all of these words; nearest:"),
        ("leak", "Is CENTAUR private as printed?"),
        ("delta 1e-6", "What is delta, and where?"),
        ("wider than the screen", "“screen” is nowhere on this page."),
    ],
)
def test_the_search_answers_as_one_types(at, query, found):
    """Questions with their answers, rows, errata and the text; what is not known is named, with the nearest."""
    page = at("#content")
    page.keyboard.press("/")
    page.keyboard.type(query)
    assert found in page.locator("#hits").inner_text()
    page.keyboard.press("Escape")
    assert not hit(page, "#hits")
    page.fill("#search-for", "")


def test_the_first_hit_answers_what_strangers_type(at):
    """Words that were written down before the page was seen, and a part of the question that should come first. Looked
    at are those whose question this run can answer."""
    page, words = at("#content"), pd.read_csv(ROOT / "tests/reference/search_words.csv").fillna("")
    titles = page.locator(".question strong").all_inner_texts()
    words = words[[bool(part) and any(part in title for title in titles) for part in words["question"]]]
    missed = []
    for query, part in zip(words["words"], words["question"], strict=True):
        page.fill("#search-for", query)
        if part not in page.locator("#hits a").first.inner_text():
            missed.append(query)
    page.fill("#search-for", "")
    assert len(words) > 15 and len(missed) <= len(words) / 10, missed


PLANTED = {
    "rare": ("Rare", "quokka lives here"),
    "often": ("Often", "lemma lives here"),
    "titled": ("Numbat", "lives here"),
    "worded": ("Words", "numbat lives here"),
    "long": ("Long", f"bilby lives here {'and there ' * 60}"),
    "short": ("Short", "bilby lives here"),
    "turned": ("Dunnart potoroo", "lives here"),
    "phrase": ("Potoroo dunnart", "lives here, where it is a little longer than that"),
    "number": ("Number", "0.875 of them"),
    **{f"near {near}": ("Near", f"{near} of them") for near in ("0.8751", "10.875", "0.87", "875")},
}


RANKED = {
    "quokka lemma": ["rare"],
    "where is the quokka": ["rare"],
    "numbat": ["titled", "worded"],
    "bilby": ["short", "long"],
    "potoroo dunnart": ["phrase", "turned"],
    "0.875": ["number"],
    "quokka numbat": ["titled", "rare"],
}


def test_the_search_ranks_planted_questions(visit):
    """A rare word above a common one, titles above answers, phrases above words, short ones above long ones; a number
    is neither the beginning nor the end of another one."""
    page = visit()
    page.evaluate(
        "all => { for (const [id, [title, answer]] of Object.entries(all)) document.querySelector('.long')"
        ".insertAdjacentHTML('beforeend', `<div class=question id='${id}' data-words=''><p><strong>${title}.</strong> "
        "${answer}</p></div>`); }",
        PLANTED,
    )
    for query, wanted in RANKED.items():
        page.fill("#search-for", query)
        hits = page.locator("#hits .question a").evaluate_all("all => all.map((one) => one.hash.slice(1))")
        assert [name for name in map(unquote, hits) if name in PLANTED] == wanted, query


def test_a_question_has_an_address(at):
    page = at("#content")
    page.fill("#search-for", "docker")
    page.press("#search-for", "Enter")
    assert page.url.endswith("#question-is-there-a-docker-image")
    assert page.locator("#question-is-there-a-docker-image").bounding_box()["y"] < WIDE["height"]
    page.fill("#search-for", "")


def test_a_hit_is_reached_by_keyboard(at):
    """An arrow leads to the first, Enter opens it; the place is marked in the contents."""
    page = at("#content")
    page.fill("#search-for", "claim:A-zCDP")
    page.press("#search-for", "ArrowDown")
    page.keyboard.press("Enter")
    assert "#row-A-zCDP" in page.url and page.locator(f"[id='{page.url.split('#')[1]}'] dl").is_visible()
    expect(page.locator("nav a[aria-current]")).to_have_text("All verdicts")
    page.fill("#search-for", "")


# Figures


def numbers(page: Page) -> str:
    return page.locator(f"{FIGURE} .says").inner_text()


def at_point(page: Page, number: int) -> tuple[float, float]:
    """Where a point lies on the screen."""
    told = unpacked(page.locator(f"{FIGURE} script").inner_text())["points"]
    left, top = told["panels"][0]["series"][0]["points"][number][:2]
    box = page.locator(f"{FIGURE} img").bounding_box()
    scale = box["width"] / told["width"]
    return box["x"] + left * scale, box["y"] + top * scale


def wait_until_unpacked(page: Page) -> None:
    packed = page.locator("figure a[download]:not([href^='blob:'], [href^='data:'])")
    expect(packed).to_have_count(0, timeout=1000 * patience(300, 120))


DECODED = "[...document.images].filter((one) => one.complete && one.naturalWidth).length"


def test_figures_are_pictures_that_the_browser_decodes_late(visit):
    """Far from the sight they take no time and hold their place; a script is needed by none."""
    for script in (True, False):
        page = visit(java_script_enabled=script)
        count = page.locator("figure img").count()
        assert count > 3 and (not script or page.evaluate(DECODED) < count)  # without scripts browsers do not wait
        picture = page.locator(f"{FIGURE} img")
        height = picture.bounding_box()["height"]
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("(one) => one.decode().then(() => one.naturalWidth)") > 50
        assert picture.bounding_box()["height"] == height > 50


def test_the_browsers_own_search_has_the_numbers_of_figures(visit):
    page = visit()
    wait_until_unpacked(page)
    page.keyboard.press("Control+f")
    assert page.locator(f"{FIGURE} table").count() == 1


def test_a_pointer_reads_the_nearest_point(at):
    """Name, both numbers and the interval; nothing far from all of them."""
    page = at(FIGURE)
    x, y = at_point(page, 1)
    page.mouse.move(x + 4, y + 4)
    assert page.locator(f"{FIGURE} .says").bounding_box()["y"] > max(at_point(page, point)[1] for point in range(3))
    assert numbers(page) == "left: private σ_F\nε = 10\nerror = 0.05 [0.04, 0.06]"
    page.mouse.move(5, 5)
    assert numbers(page) == ""


def test_a_finger_reads_it_too(visit):
    page = visit(FIGURE, has_touch=True, viewport={"width": 900, "height": 800})
    page.touchscreen.tap(*at_point(page, 2))
    assert "ε = 100" in numbers(page) and "[0.004, 0.006]" in numbers(page)


def test_arrow_keys_read_a_figure(at):
    """Along a line, to the next line, to another panel; Escape ends it."""
    page = at(FIGURE)
    page.locator(f"{FIGURE} .card").focus()
    for keys, text in [
        (("ArrowRight",), "ε = 1\n"),
        (("ArrowRight",), "ε = 10\n"),
        (("End",), "ε = 100\n"),
        (("ArrowDown",), "other"),
        (("ArrowDown",), "right\nn = "),
        (("Home",), "n = 2\n"),
    ]:
        for key in keys:
            page.keyboard.press(key)
        assert text in numbers(page)
    page.keyboard.press("Escape")
    assert numbers(page) == ""


def test_figures_enlarge_and_return(at):
    """In a dialog that Escape closes; the numbers work there as well."""
    page = at(FIGURE)
    small = page.locator(f"{FIGURE} img").bounding_box()["width"]
    page.locator(f"{FIGURE} button", has_text="Enlarge").click()
    large = page.locator("dialog img")
    assert large.bounding_box()["width"] > small
    page.locator("dialog .card").focus()
    page.keyboard.press("ArrowRight")
    assert "ε = 1" in page.locator("dialog .says").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.locator(f"{FIGURE} img").wait_for()
    assert page.locator("dialog").get_attribute("open") is None and page.locator(f"{FIGURE} img").count() == 1


def test_files_of_a_figure(visit):
    """Its numbers as a table and as CSV, and the picture, all within the page; the file that draws it is named."""
    page = visit(FIGURE)
    assert page.locator(f"{FIGURE} table").count() == 0
    page.locator(f"{FIGURE} summary").click()
    page.locator(f"{FIGURE} table").wait_for()
    cells = page.locator(f"{FIGURE} table td").all_inner_texts()
    with page.expect_download() as download:
        page.locator(f"{FIGURE} a", has_text="CSV").click()
    saved = pd.read_csv(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert [float(cell) for cell in cells] == saved.to_numpy().ravel().tolist() == [1, 0.5, 10, 0.05]
    with page.expect_download() as download:
        page.locator(f"{FIGURE} a", has_text="SVG").click()
    assert download.value.suggested_filename == "figure2.svg"
    assert ET.parse(download.value.path()).getroot().tag.endswith("}svg")
    source = page.locator(f"{FIGURE} .files code").last.inner_text()
    assert "def draw_figure2" in (ROOT / source).read_text() and source.endswith("figure2/figures.py")


# Which method


def answer(page: Page) -> str:
    return page.locator(".guide-tool:not([hidden]) .guide-answer").inner_text()


def test_sliders_ask_the_guide(visit):
    """It opens at the example; each slider changes the answer and says its value; keys move it, and the address."""
    page = visit()
    assert answer(page).startswith("At n = 20,000, m = 10, d = 30, k = 3, σ = 0.01, ε = 1, δ = 1")
    for name, values in SLIDERS.items():
        slider = page.locator(f".guide-tool input[name={name}]")
        before = answer(page)
        slider.focus()
        page.keyboard.press("Home")
        first = slider.get_attribute("aria-valuetext")
        assert float(first.replace(",", "")) == values[0]
        assert (answer(page) != before) == (name != "label-noise")  # the example has the least
        page.keyboard.press("End")
        assert float(slider.get_attribute("aria-valuetext").replace(",", "")) == values[-1]
    again = visit("#" + page.url.split("#")[1])
    assert answer(again) == answer(page)


SLIDE = """(places) => {
    const sliders = [...document.querySelectorAll(".guide-tool input")];
    sliders.forEach((slider, i) => { slider.value = places[i]; });
    sliders[0].dispatchEvent(new Event("input"));
}"""
POWERS = str.maketrans({"×": "e", **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))})
RISK = r"(\d[\d.]*(?: × 10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?)"


def numbers_in(text: str) -> list[float]:
    """Numbers as the guide spells them."""
    return [float(one.replace(" × 10", "×").translate(POWERS)) for one in re.findall(RISK, text)]


def test_the_guide_says_what_its_measures_say(visit, folder):
    """At measured settings, one and two steps beside them, at the ends of the sliders and on both sides of a limit of a
    law: the methods to use and in which order, the prediction of the first, what was measured of it and of better ones,
    and where it extrapolates."""
    page, (risks, known) = visit(), guide()
    tool = json.loads((folder / "results" / "guide" / "facts.json").read_text())["tool"]
    risks = 10 ** (np.log10(risks) * tool["fine"]).round().div(tool["fine"])
    cells = guide_cells()
    found = {name: np.stack([one[name] for one in measures.risks(cells)], axis=1) for name in RUN}
    measured = {
        tuple(at): {name: values[row] for name, values in found.items()}
        for row, at in enumerate(measures.places(measures.settings_of(cells)))
    }
    places = np.stack(np.unravel_index(np.arange(len(risks)), [len(values) for values in AXES.values()]), axis=1)
    apart = np.abs(places[:, None] - np.array([*measured])[None]).max(axis=2).min(axis=1)
    rng, seen = np.random.default_rng(0), set()
    steps = [rng.choice(np.flatnonzero(apart == step), 6, replace=False) for step in (0, 1, 2)]
    sure = chosen(known, method_to_use(risks)).astype(bool)
    edge = rng.choice(np.flatnonzero(sure[1:] != sure[:-1]))  # the budget runs fastest
    for row in (*np.concatenate(steps), 0, len(risks) - 1, edge, edge + 1):
        page.evaluate(SLIDE, np.insert(places[row], 4, 0).tolist())
        said, law, here = answer(page).replace("\u00a0", " "), risks.loc[row], measured.get((*places[row],), {})
        close = law[law <= CLOSE * law.min()].sort_values(kind="stable")
        first, *others = sorted(close.index, key=lambda name: (name != "own", name != "unit"))
        named = "predict zero;" if first == "zero" else f"use {' or '.join(METHODS[one] for one in (first, *others))}."
        assert f": {named}" in said and first == method_to_use(risks.loc[[row]]).iloc[0]
        predicted, found = re.search(r"Predicted excess risk (.*?) of that of predicting zero; (.*?)\. ", said).groups()
        assert numbers_in(predicted) == pytest.approx([law[first]], rel=0.01)
        assert numbers_in(found) == pytest.approx([one for one in here.get(first, []) if not np.isnan(one)], rel=0.01)
        better = [METHODS[one] for one in here if first in here and here[one][0] * CLOSE < here[first][0]]
        lower = re.search(r"Measured lower: (.*?)\. ", said)
        assert (lower[1].split(", ") if lower else []) == better
        assert ("own assumptions" in said) != known.loc[row, first] and ("no measured" in said) == (apart[row] > 1)
        circles = page.locator(".guide-plot circle.predicted").evaluate_all(
            "all => all.map((one) => +one.getAttribute('cx'))"
        )
        wide, drawn = (
            page.locator(".guide-plot svg").evaluate("one => +one.getAttribute('width')"),
            law[np.isfinite(law)],
        )
        assert circles == pytest.approx(10 + (np.log10(drawn).clip(-7, 1) + 7) / 8 * (wide - 30), abs=0.5)
        sizes = zip(AXES, grid().loc[row], strict=True)
        words = dict(sizes) | {"label-noise": LABEL_NOISE}
        assert f"privrep advise {' '.join(f'--{name} {words[name]:g}' for name in SLIDERS)} --delta" in said
        seen |= {first, *better}
    assert len(seen) > 3
    for place, noise in enumerate(NOISES[1:], 1):
        page.evaluate(SLIDE, [*places[row][:4].tolist(), place, int(places[row][4])])
        risk, said = guide(noise)[0].loc[row].min(), answer(page).replace("\u00a0", " ")
        predicted = numbers_in(re.search(r"Predicted excess risk (.*?) of", said)[1])[0]
        assert risk / CLOSE < predicted * 1.01 and predicted < 1.01 * CLOSE * risk
        assert "By law alone: all runs of the guide have label noise 0.01." in said and "not measured" in said


# Keyboard, light and dark, narrow, print, no script


def test_keyboard_alone_reaches_all(visit):
    """From the first key to the text, the search, its facets, a heading and the details of a row."""
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the text"
    page.locator("#query").focus()
    page.keyboard.type("kind:rate")
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.facet') !== null")
    page.get_by_role("button", name="Verdict").focus()
    page.keyboard.press("Enter")
    assert "sort=verdict" in page.url
    row = page.locator(".every tbody:not([hidden]) summary").first
    row.focus()
    page.keyboard.press("Enter")
    assert page.locator(".every tbody:not([hidden]) dl").first.is_visible()


def brightness(page: Page, selector: str, name: str) -> float:
    """From 0, black, to 255, white: of a colour as the browser paints it."""
    return page.evaluate(
        """([selector, name]) => {
            const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1}).getContext("2d");
            canvas.fillStyle = getComputedStyle(document.querySelector(selector))[name];
            canvas.fillRect(0, 0, 1, 1);
            return canvas.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((sum, one) => sum + one) / 3;
        }""",
        [selector, name],
    )


def test_dark_figures_are_no_white_sheets(visit):
    """Paper, card and page are dark, ink is light; and the other way round."""
    for scheme, dark in (("dark", True), ("light", False)):
        page = visit(FIGURE, color_scheme=scheme)
        picture = page.locator(f"{FIGURE} img")
        picture.evaluate("(one) => one.decode()")
        shown = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
        paper = [
            brightness(page, "body", "backgroundColor"),
            brightness(page, ".card", "backgroundColor"),
            float(np.median(shown)),
        ]
        ink = [float(shown.max() if dark else shown.min()), brightness(page, "main p", "color")]
        far = (max(paper) < 60 and min(ink) > 150) if dark else (min(paper) > 240 and max(ink) < 110)
        assert far, (scheme, paper, ink)


def test_narrow_screens_begin_with_the_summary(visit):
    """The contents are closed, the title is on the first screen, and nothing is wider than the screen but what scrolls
    by itself and says so."""
    page = visit(viewport=NARROW)
    assert page.locator("h1").bounding_box()["y"] < NARROW["height"] / 2
    assert not page.locator("nav ul").first.is_visible()
    long = "<p id=long>A <math><mrow>" + "<mi>x</mi><mo>+</mo>" * 40 + "</mrow></math></p>"
    page.evaluate("(long) => document.querySelector('main p').insertAdjacentHTML('afterend', long)", long)
    assert page.locator("#long").evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]
    assert visit().locator("nav ul").first.is_visible()


def test_panels_stand_below_each_other_on_a_narrow_screen(visit):
    """Both and the legend, none wider than the screen; a point is shown in its panel. A wide one shows one picture."""
    page = visit(FIGURE, viewport=NARROW)
    pieces = page.locator(f"{FIGURE} .piece")
    pieces.first.wait_for()
    boxes = [piece.bounding_box() for piece in pieces.all()]
    assert len(boxes) == 3 and all(box["width"] <= NARROW["width"] for box in boxes)
    assert all(one["y"] + one["height"] <= two["y"] + 1 for one, two in itertools.pairwise(boxes))
    assert not page.locator(f"{FIGURE} .wider").is_visible()
    page.locator(f"{FIGURE} .card").press("ArrowRight")
    ring, first = page.locator(f"{FIGURE} .here").bounding_box(), pieces.first.bounding_box()
    assert first["y"] < ring["y"] < first["y"] + first["height"]
    page.set_viewport_size({"width": 1400, "height": 900})
    assert not pieces.first.is_visible() and page.locator(f"{FIGURE} .card > img").first.bounding_box()["width"] > 400


def test_print_is_short_or_everything(visit):
    """Short: what fails is open, and all that has long tables is left out. Everything: details are open."""
    page = visit()
    assert not hit(page, ".every dl")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert hit(page, ".errata.negative") and not hit(page, ".every") and not hit(page, ".claims.brief")
    page.evaluate("dispatchEvent(new Event('afterprint')), document.body.classList.add('print-all')")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert hit(page, ".every dl") and not hit(page, "nav") and not hit(page, "#find")
    assert page.locator(".every thead").evaluate("(one) => getComputedStyle(one).display") == "table-header-group"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert not hit(page, ".every dl")


def test_all_is_there_without_a_script(visit, claims, folder):
    """All rows, their details, errata, and links to the figures' files; what needs a script does not show."""
    page = visit(java_script_enabled=False)
    assert page.locator(".every tbody").count() == len(claims)
    assert not hit(page, "#find") and not hit(page, "#search")
    row = page.locator(".every tbody").first
    row.locator("summary").click()
    assert row.locator("dl").is_visible()
    assert (
        not hit(page, ".guide-tool")
        and "20,000" in page.locator("table", has_text="alternating minimisation").first.inner_text()
    )
    page.locator("#erratum-E9 summary").click()
    assert page.locator("#erratum-E9 dl").is_visible()
    for kind in ("SVG", "CSV"):
        address = page.locator(f"{FIGURE} .files a", has_text=kind).get_attribute("href")
        assert (folder / "reports" / address).exists()


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, viewport, color_scheme):
    """With a search under way, a row, an erratum and the numbers of a figure open."""
    page = visit("#?q=paper:jain2021", viewport=viewport, color_scheme=color_scheme)
    page.evaluate(
        f"for (const one of document.querySelectorAll('.every tbody:not([hidden]) details, .erratum, {FIGURE} "
        "details')) one.open = true"
    )
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]
