# ruff: noqa: RUF001  (typographic signs are meant)
"""The report: its building blocks, and one page rendered from stub tables."""

import html
import json
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest
from stub_page import FIGURES, SIMULATED, STUDIES, SVG, render, rendered_run, write_differences
from stub_runs import ChosenRun

from replication.evidence.cells import sizes_of
from replication.evidence.claims import CLAIM_COLUMNS
from replication.evidence.compare import CONFIRMATION_COLUMNS
from replication.evidence.quantities import checked_claims
from replication.evidence.verdicts import GROUPS, OUTCOMES, SEVERITIES, Verdict
from replication.report import chapters, claims_table, layout, page, pictures, sizes, summary
from replication.report import spelling as wording
from replication.report.claims_table import all_rows, brief_table
from replication.report.record import DOCS, with_record
from replication.report.run_tables import Run
from replication.run import config
from replication.run.config import study_names
from replication.run.csv_tables import write_rows
from replication.run.models import ConfigError

# Made-up tables

NBSP = "\u00a0"
TEMPLATES = Path(layout.__file__).with_name("templates")
MARKDOWN = {f"{name}.md.jinja" for name in ("chapter", "confirmation", "letter", "results")}
CLAIMS_BY_ID = {claim.id: claim for claims in checked_claims().values() for claim in claims}


def errata_rows(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Errata, each with whether it is confirmed, what it changes and with which it is one question."""
    return pd.DataFrame(rows, columns=["confirmed", "changes", "same_as"])


NO_ERRATA = errata_rows()


def claim_rows() -> pd.DataFrame:
    """Two claims of one paper and one of another, in the columns of claims.csv."""
    empty = dict.fromkeys(CLAIM_COLUMNS, "") | {"scale": "quick", "whose": "paper", "basis": "measured"}

    def drawn(figure: str) -> dict:
        return empty | {"figure": f"jain2021/{figure}", "command": f"snakemake -j1 figures/jain2021/{figure}.svg"}

    first = drawn("figure2") | {"id": "A-F2", "paper": "jain2021", "study": "figure2", "place": "Section 6"}
    first |= {"statement": "Error <falls> with epsilon."}
    second = drawn("none") | {"id": "A-L4.3", "paper": "jain2021", "study": "accounting"}
    second |= {"place": "Lemma 4.3, Algorithm 2", "statement": "It is (eps, delta)-DP."}
    third = second | {"id": "B-T5.2", "paper": "shen2023", "place": "Theorem 5.2"}
    third |= {"printed": "d^2", "severity": "R", "advice": "Use d^3.", "raw_verdict": "INCONCLUSIVE"}
    other = empty | {"id": "B-T1", "paper": "shen2023", "place": "Table 1", "statement": "It is best."}
    found = {"measured": "0.5", "ci_low": "0.25", "ci_high": "0.75", "rule": "at_most", "claimed": "<= 1.0"}
    exact = found | {"ci_low": "0.5", "ci_high": "0.5"}

    def row(one: dict, quantity: str, verdict: str, reason: str, **more: str) -> dict:
        return one | {"quantity": quantity, "verdict": verdict, "reason": reason} | more

    rows = [
        row(first, "all", "PARTIAL", "one; two", rule="all_hold", measured="1"),
        row(first | found, "(i) ratio at epsilon = 5", "REPRODUCED", "inside"),
        row(first | found, "(ii) other", "INCONCLUSIVE", "x" * 90, tolerance="1e-06"),
        row(second | exact, "largest sum of squares", "HOLDS", "0.5 is within <= 1.0"),
        row(third | exact, "slope", "VIOLATED", "beyond"),
        row(other, "the statement as a whole", "NOT-TESTED", "Not run."),
    ]
    return pd.DataFrame(rows)


class Page(HTMLParser):
    """Elements of a page, its text outside of code, pictures and scripts, and names that lie in detail that opens."""

    def __init__(self, content: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.stack: list[str] = []
        self.text = ""
        self.folded: set[str] = set()
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if "details" in self.stack:
            self.folded.add(dict(attrs).get("id", ""))
        if tag not in ("meta", "link", "br", "img", "input"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not {"code", "svg", "style", "script"} & set(self.stack):
            self.text += data

    def values(self, *names: str) -> list[str]:
        return [attrs[name] for _, attrs in self.elements for name in names if name in attrs]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Path:
    return rendered_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def content(rendered) -> str:
    return (rendered / "reports/index.html").read_text(encoding="utf-8")


# The page


def test_page_needs_no_network(content, rendered):
    """Every address is inside the page and leads somewhere, but for the pictures' files and the notebook beside it."""
    found = Page(content)
    assert not found.stack
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    files = {target for target in found.values("href") if target.startswith("../figures/")}
    assert files == {f"{pictures.FOLDER}/{figure}.{kind}" for figure in FIGURES for kind in ("svg", "csv")}
    assert all((rendered / "reports" / target).exists() for target in files)
    for target in set(found.values("href", "src", "xlink:href", "action", "srcset", "poster")) - files - {"tour.ipynb"}:
        assert target.startswith(("#", "data:")), target
        assert not target.startswith("#") or target[1:] in ids, target
    assert not re.search(r"url\((?!%23|#|data:)|@import", content)
    assert len(content.encode()) < 10_000_000


def test_page_is_accessible(content):
    """Language, names of figures, and the scope of table headers."""
    found = Page(content)
    assert ("html", {"lang": "en"}) in found.elements
    assert [attrs["scope"] for tag, attrs in found.elements if tag == "th"]
    assert all("scope" in attrs for tag, attrs in found.elements if tag == "th")
    drawn = [attrs for tag, attrs in found.elements if tag == "img"]
    assert len(drawn) == len(FIGURES)
    assert all(attrs["alt"] and attrs["aria-describedby"] in found.values("id") for attrs in drawn)
    assert all("aria-hidden" in attrs for tag, attrs in found.elements if tag == "svg")
    assert sum(tag == "h1" for tag, _ in found.elements) == 1


def test_page_shows_every_claim_and_known_verdicts_alone(content, rendered):
    """Ids, commands and badges of all claims, those of studies that did not run too."""
    found, claims = Page(content), pd.read_csv(rendered / "claims.csv", dtype=str, keep_default_na=False)
    assert set(claims["id"]) == set(CLAIMS_BY_ID)
    for claim in claims["id"].unique():
        assert wording.claim_anchor(claim) in found.values("id")
    for command in claims.drop_duplicates("id")["command"]:
        assert f'<code class="command">{command}</code>' in content or not command
    labels = re.findall(r'class="badge \w+"[^>]*><span aria-hidden="true">.</span> ([A-Z-]+)<', content)
    assert set(claims["verdict"]) <= set(labels) <= set(Verdict)
    for figure in FIGURES:
        assert wording.figure_anchor(figure) in found.values("id")
    linked = {target for target in found.values("href") if target.startswith("#fig-")}
    assert linked == {f"#{wording.figure_anchor(figure)}" for figure in claims["figure"] if figure in FIGURES}


def test_the_opening_comes_first(content):
    """What was found and which method to use come first, after the title and the note on a small run."""
    shown = content[content.index("</nav>") :]
    inside = ("<h1", 'class="masthead"', "<aside", "</aside>", 'class="of-record"', 'class="opening"')
    places = [shown.index(words) for words in inside]
    assert places == sorted(places)
    assert not re.search('<details(?! class="of-record")|<figure|<table|<h2', shown[: places[-1]])
    headings = ["The findings that matter most", "Which method to use", "Questions that readers have"]
    assert re.findall("<h2[^>]*>(.*?)</h2>", shown)[:3] == headings
    assert places[-1] < shown.index('class="guide-tool"') < shown.index("<h2")


def test_detail_is_closed(content):
    """A reader opens it; the contents, too, so that a small screen begins with the summary."""
    details = [attrs for tag, attrs in Page(content).elements if tag == "details"]
    assert len(details) > 8 and not [attrs for attrs in details if "open" in attrs]
    assert content.index("<nav") < content.index("<details><summary>Contents") < content.index("</nav>")


def test_every_row_has_a_name_and_what_stands_behind_it(content, rendered):
    """In the table and, in the same order, as data for the script; a link to it opens its details."""
    claims = pd.read_csv(rendered / "claims.csv", dtype=str, keep_default_na=False)
    bodies = re.findall(r'<tbody role="rowgroup" id="(row-[^"]+)">(.*?)</tbody>', content, flags=re.DOTALL)
    assert len(bodies) == len(claims) == len({name for name, _ in bodies})
    texts, *lines = json.loads(re.search(r'id="rows">(.*?)</script>', content, flags=re.DOTALL)[1])
    fields, *data = [[texts[place] for place in line] for line in lines]
    anchors = claims_table.row_anchors(claims)
    assert fields == list(claims.columns) and sorted(data) == sorted(claims.to_numpy().tolist())
    for (name, body), cells in zip(bodies, data, strict=True):
        row = dict(zip(fields, cells, strict=True))
        assert name == anchors[row["id"], row["quantity"]] and wording.of_row(row) in body
        assert layout.PIECES.badge(row["verdict"]) in body or "not sized for a verdict" in body
        assert wording.typeset(row["statement"]) in body
        assert wording.typeset(row["reason"]) in body and row["command"] in html.unescape(body)
        study, grid = body.partition("<dt>Study</dt>")[2], row["study"] in SIMULATED
        assert row["study"] in study and ("repetition" in study) == grid
    small = [wording.typeset(row) in bodies[0][1] for row in claims["reason"] if row.startswith("needs scale")]
    assert small and not any(small)


def test_errata_and_claims_lead_to_each_other(content):
    """Printed, right, demonstration, measured and what it changes; the claims that an erratum touches name it."""
    erratum = re.search(r'<details class="erratum" id="erratum-E9">.*?</details>', content, flags=re.DOTALL)[0]
    for word in ("Printed", "Right", "Demonstration", "Measured", "What it changes"):
        assert f"<dt>{word}</dt>" in erratum
    assert "Changes nothing: one erratum</h3>" in content
    assert {'href="#claim-A-F2"', 'href="#claim-A-zCDP"'} <= set(re.findall('href="[^"]*"', erratum))
    rows = CLAIMS_BY_ID["A-F2"].quantities
    assert content.count('href="#erratum-E9"') >= len(rows)


def test_every_study_has_its_place(content):
    """In the order of the papers' files, those that did not run with one sentence."""
    headings = re.findall(r'<h2 id="[^"]*">(.*?)</h2>', content)
    titles = [chapters.heading(study).removeprefix("## ") for study in config.chapters()]
    assert sorted(config.chapters()) == study_names()
    assert [heading for heading in map(html.unescape, headings) if heading in titles] == titles
    assert content.count("This study is not part of this run.") == len(titles) - len(STUDIES)


def test_a_page_alone_leads_nowhere_else(rendered):
    """Neither to the files of its figures nor to the notebook; its numbers stay within it."""
    assert render(rendered, "--alone", "--output", str(rendered / "alone.html")).returncode == 0
    found = Page((rendered / "alone.html").read_text(encoding="utf-8"))
    assert all(target.startswith(("#", "data:")) for target in found.values("href", "src"))


def test_page_has_no_leftovers(content):
    """Formulas are MathML; nothing of Markdown, templates, Python or missing values is left, nor escaped HTML."""
    found = Page(content)
    assert "$" not in found.text
    assert "<math" in content
    assert any("costs $5 and $6" in unquote(address) for address in found.values("src"))
    assert not re.search(
        r"\bnan\b|\bNone\b(?! o[fn] )|Traceback|\*\*|{{|{%|Markup\(|</?[a-z]",
        found.text + " ".join(found.values("class")),
    )


def test_page_is_the_same_again(rendered, content):
    """Equal inputs give equal bytes."""
    assert render(rendered).returncode == 0
    assert (rendered / "reports/index.html").read_text(encoding="utf-8") == content


def test_a_missing_table_stops_in_one_line(rendered):
    """It is named, and the page stays as it was."""
    page, table = rendered / "reports/index.html", rendered / "errata.csv"
    before = page.stat().st_mtime_ns
    table.rename(rendered / "away.csv")
    done = render(rendered)
    (rendered / "away.csv").rename(table)
    assert done.returncode
    assert "errata.csv: there is no such file" in done.stderr and "Traceback" not in done.stderr
    assert page.stat().st_mtime_ns == before


def held_against(docs: Path, run: Run, default: str = "", **changes: str) -> str:
    """What a page says of a record with other verdicts of some claims; the default run has its own, or one for all."""
    own = run.claims.to_dict("records")
    rows = [row | {"verdict": changes.get(row["id"], row["verdict"])} for row in own]
    write_differences(docs, *({"id": row["id"], "quantity": row["quantity"], "why": "Seeds."} for row in own))
    write_rows(
        docs / "confirmation.csv",
        [
            {name: row.get(name, "") for name in CONFIRMATION_COLUMNS} | {"verdict": default or row["verdict"]}
            for row in own
        ],
        CONFIRMATION_COLUMNS,
    )
    write_rows(docs / "record" / "claims.csv", rows, tuple(rows[0]))
    about = {"commit": "abcdef0123456789", "config": {"scale": "record", "master_seed": 5}, "cell_cpu_seconds": 7200}
    (docs / "record" / "provenance.json").write_text(json.dumps(about | {"cpu": "abacus"}))
    return " ".join(re.sub(r"<[^>]+>", " ", with_record(run, docs)).split())


def test_a_page_says_whether_it_agrees(rendered, tmp_path):
    """A row with the verdict of the default run says why that differs; a third verdict is not explained by it."""
    run = Run.read(rendered, rendered / "results", rendered / "figures")
    known = run.claims[run.claims["verdict"] != "NOT-TESTED"]
    named, count = known["id"].iloc[0], len(known)
    many = int((known["id"] == named).sum())
    said = "run of record (scale record, seed 5, commit abcdef0123)"
    assert held_against(tmp_path, run).endswith(f"both this run and the {said} tested all agree.")
    text = held_against(tmp_path, run, **{named: "LIMIT"})
    agreed = f"of {count} rows that both this run and the {said} tested {count - many} agree; {many} do"
    assert text.startswith(f"This run is too small to decide anything: {agreed}")
    assert text.count("LIMIT there with") == many == text.count("Seeds.")
    assert "Seeds." not in held_against(tmp_path, run, "PARTIAL", **{named: "LIMIT"})
    untested = dict.fromkeys(run.claims["id"].unique(), "NOT-TESTED")
    assert held_against(tmp_path, run, **untested) == f"No row of this run was tested by the {said} too."
    about = run.provenance | {"cell_cpu_seconds": 7200}
    (tmp_path / "record" / "provenance.json").write_text(json.dumps(about))
    run.provenance["cell_cpu_seconds"] = 7200
    assert "This is the run of record: 2 CPU hours on abacus" in with_record(run, tmp_path)
    del run.provenance["cell_cpu_seconds"]


# Building blocks


def test_what_a_template_is_given_is_text():
    """Signs of HTML in data are escaped, and what is markup already stays."""
    row = {"id": "A<b>", "paper": "p&q", "place": "Lemma 1 < 2", "printed": "'x'", "correct": "d^2"}
    row["confirmed"] = "set aside"
    shown = summary.candidates_table(pd.DataFrame([row]))
    for text in ("A&lt;b&gt;", "p&amp;q", "Lemma 1 &lt; 2", "d²"):
        assert text in shown
    assert "&amp;lt;" not in shown and "<b>" not in shown
    record = {"config": {"scale": "<i>", "master_seed": 1}, "commit": "unknown", "dirty": "unknown", "finished": "2021"}
    masthead = layout.macros("record.html.jinja").masthead(record)
    assert "Scale &lt;i&gt;" in masthead and "<code>unknown</code>" in masthead and "with changes" not in masthead


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*")), ids=lambda path: path.name)
def test_templates_escape(path):
    """All but what is Markdown, and without exceptions."""
    assert path.name.endswith(".html.jinja") or path.name in MARKDOWN
    assert not re.search(r"\|\s*safe\b|autoescape", path.read_text())
    assert not re.search(r"[ \t]$|\t", path.read_text(), flags=re.MULTILINE)


def test_no_element_is_written_in_code():
    """HTML stands in the templates; what code puts into an element that a file or the Markdown has is an attribute."""
    found = [
        f"{path.name}: {line.strip()}"
        for path in TEMPLATES.parent.glob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"""\bf(?:'[^']*|"[^"]*)</?[a-z]""", line)
    ]
    assert found == []


def test_every_verdict_is_explained():
    """Those that a kind of claim can get, and those of exponents; another word is an error."""
    assert {verdict for group in GROUPS.values() for verdict in group} == set(Verdict)
    assert {verdict for pair in OUTCOMES.values() for verdict in pair} <= set(Verdict)
    guide = html.unescape(layout.PIECES.verdict_guide(GROUPS))
    assert all(guide.count(f"</span> {verdict}<") == 1 and verdict.meaning in guide for verdict in Verdict)
    assert {verdict.level for verdict in Verdict} == set(summary.LEVELS)
    with pytest.raises(ValueError, match="'FINE' is not a valid Verdict"):
        layout.PIECES.badge("FINE")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.3837, "1.38"),
        ("0.90", "0.900"),
        (0.5625, "0.563"),
        (1.9969, "2.00"),
        (8.0, "8"),
        (0.000128, "1.28 × 10<sup>−4</sup>"),
        (1e-4, "10<sup>−4</sup>"),
        (0.99996, "1.00"),
        (12068.8, "12,100"),
        (-0.25, "−0.250"),
        (0.0, "0"),
        (float("inf"), "∞"),
        (float("nan"), "–"),
    ],
)
def test_numbers_are_set_with_three_digits(value, text):
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        ("epsilon = 5", "ε\u00a0=\u00a05"),
        ("d^1.5 k^-1 -> lam_k", "d<sup>1.5</sup> k<sup>−1</sup> → λ<sub>k</sub>"),
        ("||F||_F is O~(kappa)", "‖F‖<sub>F</sub> is Õ(κ)"),
        ("sigma_F^2 and A_j", "σ<sub>F</sub>² and A<sub>j</sub>"),
        ("sqrt(8 ln(1/delta))/eps", "√(8 ln(1/δ))/ε"),
        ("delta = 1e-6", "δ\u00a0=\u00a010<sup>−6</sup>"),
        ("beta, data10 and random-s2-a", "beta, data10 and random-s2-a"),
        ("|D triangle D'| and the triangle inequality", "|D △ D'| and the triangle inequality"),
        ("b_j b_j^T", "b<sub>j</sub> b<sub>j</sub><sup>⊤</sup>"),
        ("a < b & $c$", "a &lt; b &amp; &#36;c&#36;"),
    ],
)
def test_texts_of_the_configuration_are_typeset(plain, text):
    assert wording.typeset(plain) == text


def test_a_picture_is_data_of_an_image_that_stands_alone():
    """References lead to its own ids, a style stands once. Coordinates lose digits, text and colours stay."""
    drawn = SVG.replace("<text>", 2 * '<path style="fill: #ffffff; stroke: #0173b2"/>' + "<text>")
    address = pictures.as_data(drawn.replace('x="3"', 'x="3.14159"').replace("costs $5", 'it\'s "0.00012"'))
    assert not re.search(r'["<>#&$]', address) and address.startswith("data:image/svg+xml,")
    picture = ET.fromstring(unquote(address.split(",", 1)[1]))
    elements = [*picture.iter()]
    ids = [one.attrib["id"] for one in elements if "id" in one.attrib]
    used = re.findall(r"#(\w+)[')]", unquote(address))
    assert len(ids) == 2 and {*ids} <= {*used} and picture.attrib["width"] == "90pt"
    assert [one.attrib["class"] for one in elements if one.tag.endswith("path") and "class" in one.attrib] == ["s0"] * 2
    said = "".join(picture.itertext())
    assert said.count("fill:#ffffff;stroke:#0173b2") == 1 and 'it\'s "0.00012"' in said and "example.org" not in said
    assert "x='3.14'" in unquote(address)


def test_claims_in_short_and_whole():
    """The short form has no statements or commands; the whole has both, with a link to a figure that there is."""
    rows = claim_rows()
    brief, whole = brief_table(rows), all_rows(rows, ["jain2021/figure2"], {"A-F2": ["E9"]}, lambda row: "n = 77")
    assert "B-T5.2" in brief and "snakemake" not in brief and "Error &lt;falls" not in brief
    assert "Error &lt;falls&gt; with ε." in whole and "snakemake" in whole
    assert whole.count('href="#fig-') == whole.count('href="#erratum-E9"') == (rows["id"] == "A-F2").sum()
    assert whole.count("n = 77") == (rows["study"] != "").sum()
    assert "Use d<sup>3</sup>" in whole and "Severity R: a rate" in whole
    for seen, count in (("yes", 0), ("no", len(rows)), ("not run", 0)):
        assert brief_table(rows.assign(confirmed=seen)).count("another verdict on another seed") == count


def judged_row(**values) -> dict:
    return dict.fromkeys(CLAIM_COLUMNS, "") | {"rule": "rate", "claimed": "1.5", "tolerance": "0.15"} | values


def test_bars_show_interval_claim_and_tolerance():
    """On one scale, an exponent as corrected; the claimed side of a limit has no end."""
    row = judged_row(measured="1.4", corrected="1.5", ci_low="1.3", ci_high="1.6")
    assert claims_table.bar_of(row) == claims_table.Bar(1.5, pytest.approx(1.4), pytest.approx(1.7), 1.5, 1.35, 1.65)
    limit = claims_table.bar_of(judged_row(rule="at_most", claimed="<= 2", tolerance="", measured="1"))
    assert (limit.low, limit.high, limit.start, limit.end) == (-math.inf, 2, 1, 1)
    assert claims_table.bar_of(judged_row(rule="at_least", claimed=">= 2", measured="1")).high == math.inf
    for missing in ({"measured": ""}, {"measured": "nan"}, {"measured": "inf"}, {"rule": "all_hold", "measured": "3"}):
        assert claims_table.bar_of(judged_row(**missing)) is None and claims_table.drawn(judged_row(**missing)) is None


@pytest.mark.parametrize(("end", "part"), [(20, 3 / 19), (20.1, math.log(4) / math.log(20.1))])
def test_bars_are_logarithmic_where_numbers_differ_much(end, part):
    """With room beside the marks, more on a side on which all is tolerated."""
    between = judged_row(claimed="1", tolerance="0", measured="4", ci_low="2", ci_high=str(end))
    for row, left in ((between, 6), (between | {"rule": "at_most", "claimed": "<= 1"}, 24)):
        bar, room = claims_table.drawn(row), 120 - 6 - left
        assert (bar.claimed, bar.end, bar.low) == (left, left + room, 0 if left == 24 else left)
        assert bar.measured == pytest.approx(left + part * room, abs=0.06)
        drawn = layout.macros("claims.html.jinja").bar(bar, "bad")
        places = [re.search(pattern, drawn)[1] for pattern in (r'claim-mark" d="M([\d.]+)', r'cx="([\d.]+)')]
        assert [*map(float, places)] == [bar.claimed, bar.measured]


def test_grids_are_spelled():
    """Sizes of a series; arithmetic has none."""
    cells = pd.DataFrame({"series": ["a", "a", "b"], "users": [10, 20, 12345], "epsilon": 1.23456, "seed": [0, 1, 0]})
    table = sizes_of(cells.assign(head_condition=2), [*cells.columns, "head_condition"])
    assert sizes.grid_line(table, "a").replace(NBSP, " ") == "n = 10 and 20; ε = 1.23; κ = 2; two repetitions"
    assert "12,345" in sizes.grid_line(table)
    assert sizes.grid_line(None) == "arithmetic, nothing is drawn"


class Judged(ChosenRun):
    """A run with given claims and errata, for the texts on the whole run."""

    def __init__(self, claims: pd.DataFrame, errata: pd.DataFrame = NO_ERRATA, scale: str = "default"):
        super().__init__()
        tables = {"claims": claims, "errata": errata, "provenance": {"config": {"scale": scale, "studies": []}}}
        for name, value in tables.items():
            object.__setattr__(self, name, value)


def said(name: str, *tables, **options) -> str:
    """A text on a run with these claims, on one line."""
    return " ".join(chapters.text(name, Judged(*tables, **options)).split())


def test_statements_are_counted():
    """Those of the papers, with their verbs; the row that sums a claim up is not counted twice."""
    found = summary.counted(claim_rows())
    counts = {"claims": 3, "papers": 2, "tested": 4, "hold": 2, "part": 0, "false": 1, "undecided": 1, "untested": 1}
    assert counts.items() <= found.items() and not any(summary.left_out(claim_rows()).values())
    text = said("agreement", claim_rows())
    assert "of two papers were tested in four quantities." in text and "Of the quantities 2 hold" in text


def test_errata_are_counted_by_what_they_change():
    """The most severe first, a question once; what the published version mends is apart, what is set aside left out."""
    guarantee = ("yes", "the guarantee", "")
    rows = [
        ("yes", "nothing", ""),
        guarantee,
        ("yes", "a constant", "E1"),
        guarantee,
        ("set aside", "", ""),
        ("mended", "", ""),
    ]
    text = said("agreement", claim_rows(), errata_rows(*rows))
    assert "two change the guarantee, one changes nothing; the demonstration fails for 0 of them." in text
    assert "Not counted: one slip of a submission that the published version corrects." in text
    assert "fails for 1 of them." in said("agreement", claim_rows(), errata_rows(*rows[:4], ("no", "a sign", "")))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"whose": "correction"}, "corrections"),
        ({"whose": "ours"}, "ours"),
        ({"basis": "definition"}, "definitions"),
        ({"verdict": "SURROGATE"}, "stand_ins"),
    ],
)
def test_only_the_papers_own_statements_count(change, why):
    """A row of another kind leaves the tally and the counts, and is named as left out."""
    rows = claim_rows()
    rows.loc[3, list(change)] = list(change.values())
    left_out = summary.left_out(rows)
    assert summary.counted(rows)["hold"] == 1 and left_out.pop(why) == 1 and not any(left_out.values())
    assert "HOLDS" not in summary.tally(rows)
    assert "HOLDS" in summary.tally(claim_rows())


def exponent_rows(*distances: float, raw: str = "RATE-AGREES", tolerance: str = "0.15") -> pd.DataFrame:
    """Exponents claimed as 1 whose corrected intervals reach so far from it."""
    row = dict.fromkeys(CLAIM_COLUMNS, "") | {"rule": "rate", "verdict": "RATE-AGREES", "raw_verdict": raw}
    row |= {"claimed": "1", "measured": "1.02", "corrected": "1.0", "ci_low": "1.0", "tolerance": tolerance}
    return pd.DataFrame([row | {"ci_high": str(1.02 + distance)} for distance in distances])


def test_agreement_of_exponents_is_counted_at_narrower_marks():
    """The far end of the corrected interval decides, and what the correction changed is said."""
    rows = exponent_rows(0.04, 0.06, 0.14)
    found = summary.agreement(rows)
    (within,) = found["within"]
    assert found["changed"] == 0 and (within["tolerance"], within["exponents"]) == (0.15, 3)
    assert list(within["narrower"].items()) == [(pytest.approx(0.1), 2), (pytest.approx(0.05), 1)]
    by_definition = summary.agreement(pd.concat([rows, exponent_rows(0.04).assign(basis="definition")]))
    assert by_definition["within"] == found["within"]


def test_contradictions_are_one_line_each():
    """What is printed, the severity, what to do, for negative verdicts alone. They are counted by what they change."""
    table = summary.contradictions(claim_rows())
    assert table.count("<tr>") == 3  # the header, PARTIAL and VIOLATED
    assert "a rate, an assumption or a number" in table and "Use d<sup>3</sup>" in table
    assert summary.contradictions(claim_rows().query("verdict == 'HOLDS'")) == ""
    rows = claim_rows()
    rows.loc[0, "severity"] = "P"
    assert "two statements, by severity 1 P and 1 R" in said("contradictions", rows)


ORDERS = {
    "most severe": lambda table: [[*SEVERITIES].index(letter) for letter in re.findall(r"<td><b>([A-Z])</b>", table)],
    "newest": lambda table: [-int(seed) for seed in re.findall(r"\b20\d{6}\b", table.partition("---")[0])],
}


def test_a_table_has_the_order_that_it_states(content):
    """A text that says what is first, before the next table; another one than these needs its own line in ORDERS."""
    texts = [content, *(path.read_text() for path in DOCS.glob("*.md"))]
    stated = [
        match
        for text in texts
        for match in re.finditer(r"\bthe (\w+(?: \w+)?) first(?=[,.<])(.*?)(?:</table|\n## |$)", text, re.DOTALL)
    ]
    assert {match[1] for match in stated} == {*ORDERS}
    for match in stated:
        places = ORDERS[match[1]](match[2])
        assert len({*places}) > 1 and places == sorted(places), match[1]


def test_rows_that_a_scale_does_not_test_are_one_line():
    rows = claim_rows()
    small = rows.assign(verdict="NOT-TESTED", reason="needs scale default, this is quick; 0.1 is at most 1")
    assert "<tr" not in brief_table(small) and "rows are not tested at this scale" in brief_table(small)
    assert "not tested at this scale" not in brief_table(rows)
    assert "One row is not tested at this scale." in brief_table(pd.concat([rows, small.iloc[:1]]))
    of_record = brief_table(small, {("B-T5.2", "slope"): "VIOLATED"})
    assert of_record.count("not sized for a verdict") == of_record.count('none" href="#verdict-VIOLATED"') == 1


def test_what_the_record_alone_judges_is_shown_in_grey_and_not_counted():
    run = ChosenRun()
    run.claims.loc[run.claims["study"] == "unit_rates", ["verdict", "reason"]] = "NOT-TESTED", "needs scale record"
    assert ("O-RATE", "exponent of n") in run.verdicts_of_record
    assert 'class="tally"' not in chapters.chapter("unit_rates", run)


def test_a_small_run_says_so(content):
    """And that its verdicts in grey are those of the run of record; the page counts none."""
    note = said("small_run", claim_rows(), scale="tiny")
    assert "<aside" in note and "run at scale “tiny”" in note and "those of the run of record" in note
    assert not re.search("How much agreed|statements, by severity", content) and "not sized for a verdict" in content
    assert 'class="tally"' not in content
    hours = json.loads((DOCS / "record/provenance.json").read_text())["cell_cpu_seconds"] / 3600
    assert f"The run of record took {wording.number(hours)} CPU hours on" in content


def test_revisions_are_counted_apart():
    """What was revised with results known is no gap that the papers leave."""
    run = Judged(claim_rows())
    kinds = ["revised-after-results", "revised-after-confirmation", "left-open", "stand-in", "split"]
    object.__setattr__(run, "deviations", [{"kind": kind} for kind in kinds])
    text = chapters.text("revisions", run)
    assert "two revisions are listed" in text and "Three entries more" in text


def test_tables_of_chapters_scroll():
    """With headers of columns; an own table has its container from its template."""
    found = page.from_markdown('| a |\n|---|\n| 1 |\n\n<table class="x"><tr><td>2</td></tr></table>\n')
    assert re.findall(r'class="scroll"[^>]*>\s*<table>.*?scope="col">a<', found, re.DOTALL)
    assert found.count("scroll") == 1


def test_formulas_become_mathml_in_text_alone():
    """Dollars in code, in attributes and in escaped text stay."""
    content = page.with_formulas('<p title="$a$">$x$ and <code>$y$</code> &#36;z&#36;</p><p>$$\\frac{1}{2}$$</p>')
    assert content.count("<math") == 2 and 'display="block"' in content
    assert 'title="$a$"' in content and "<code>$y$</code>" in content and "&#36;z&#36;" in content


def test_a_formula_holds_no_html():
    """A number with a link within dollars would be shown with its tags."""
    with pytest.raises(ConfigError, match="HTML in the formula"):
        page.with_formulas("<p>$d = &lt;span class='q'&gt;29&lt;/span&gt;$</p>")


def test_headings_get_names_and_contents():
    content = page.with_anchors(
        '<!-- part: One --><h2>A "b" &amp; c</h2><h3>Again</h3><!-- part: Two --><h2>Again</h2>'
    )
    names = re.findall(r'id="([^"]+)"', content)
    assert names == ["a-b-c", "again", "again-2"]
    first = (("a-b-c", 'A "b" &amp; c'), [("again", "Again")])
    assert page.contents(content) == [("One", [first]), ("Two", [(("again-2", "Again"), [])])]
