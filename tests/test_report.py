# ruff: noqa: RUF001  (typographic signs are meant)
"""The report: its building blocks, and one page rendered from made-up tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from privrep.evidence import claims as judging
from privrep.report import badges as verdicts
from privrep.report import html_pieces as markup
from privrep.report import page, pictures
from privrep.report import spelling as wording
from privrep.report import summary as outcome
from privrep.report.claims_table import claims_filter, claims_table
from privrep.report.findings import accounting, figure2
from privrep.report.run_tables import Measures
from privrep.run.config import read_yaml
from privrep.studies.figure2.measures import DECIDING

ROOT = Path(__file__).resolve().parents[1]
EXACT = f"{DECIDING}-exact"
RULES = ("ridge", "eigclip")
SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="90pt" height="60pt" viewBox="0 0 90 60"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><about href="https://example.org/"/></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>
 <clipPath id="p1"><rect width="90" height="60"/></clipPath><path id="mark" d="M 0 0 L 1 1"/></defs>
 <g id="axes_1" clip-path="url(#p1)"><use xlink:href="#mark" x="3"/><text>costs $5 and $6</text></g>
</svg>
"""


# Made-up tables


def claim_rows() -> pd.DataFrame:
    """Two claims of one paper and one of another, in the columns of claims.csv."""

    def row(**values) -> dict:
        return (
            dict.fromkeys(judging.CLAIM_COLUMNS, "")
            | {"scale": "quick", "study": "figure2", "place": "Section 6", "whose": "paper", "basis": "measured"}
            | values
        )

    first = {
        "id": "A-F2",
        "paper": "jain2021",
        "statement": "Error <falls> with epsilon.",
        "figure": "jain2021/figure2",
        "command": "snakemake -j1 figures/jain2021/figure2.svg",
    }
    second = first | {
        "id": "A-L4.3",
        "study": "accounting",
        "place": "Lemma 4.3, Algorithm 2",
        "statement": "It is (eps, delta)-DP.",
        "figure": "jain2021/none",
        "command": "snakemake -j1 figures/jain2021/none.svg",
    }
    found = {"measured": "0.5", "ci_low": "0.25", "ci_high": "0.75", "rule": "at_most", "claimed": "<= 1.0"}
    exact = found | {"ci_low": "0.5", "ci_high": "0.5"}
    rows = [
        row(**first, quantity="all", rule="all_hold", measured="1", verdict="PARTIAL", reason="one; two"),
        row(**first, **found, quantity="(i) ratio at epsilon = 5", verdict="REPRODUCED", reason="inside"),
        row(**first, **found, quantity="(ii) other", verdict="INCONCLUSIVE", reason="x" * 90, tolerance="1e-06"),
        row(**second, **exact, quantity="largest sum of squares", verdict="HOLDS", reason="0.5 is within <= 1.0"),
        row(
            **second | {"id": "B-T5.2", "paper": "shen2023", "place": "Theorem 5.2"},
            **exact,
            quantity="slope",
            verdict="VIOLATED",
            raw_verdict="INCONCLUSIVE",
            reason="beyond",
            printed="d^2",
            severity="R",
            advice="Use d^3.",
        ),
        row(
            id="B-T1",
            paper="shen2023",
            place="Table 1",
            statement="It is best.",
            quantity="the statement as a whole",
            verdict="NOT-TESTED",
            reason="Not run.",
            study="",
        ),
    ]
    return pd.DataFrame(rows)


def cell_rows() -> pd.DataFrame:
    """Cells of the deciding reading, with printed and with exact noise."""
    rows = []
    for series, calibration, gain in ((DECIDING, "paper", 1.0), (EXACT, "exact", 4.0)):
        for epsilon in (1, 2, 5):
            for epochs in (1, 2):
                for seed in (0, 1):
                    rows.append(
                        {
                            "series": series,
                            "algorithm": "altmin",
                            "calibration": calibration,
                            "epsilon": epsilon,
                            "epochs": epochs,
                            "seed": seed,
                            "mse": (2.0 * epochs + 0.1 * seed) / epsilon / gain,
                            "noise_multiplier": epochs**0.5 * 10 / epsilon / gain**0.5,
                            "epsilon_exact": 0.4 * epsilon,
                            "min_eigenvalue": 1.5 - epochs,
                        }
                    )
    settings = {
        "users": 12_345,
        "samples": 10,
        "dim": 6,
        "rank": 2,
        "label_noise_sd": 0.01,
        "delta": 1e-6,
        "init": "random",
        "split": "halves-then-all",
        "truth_law": "unit-columns",
        "clip_unit": "sample",
        "clip_feature": 1e-4,
        "clip_label": 1e-4,
        "fallback": "solve",
        "step": float("nan"),
        "penalty": float("nan"),
        "status": "ok",
    }
    return pd.DataFrame(rows).assign(**settings)


def reading_rows() -> pd.DataFrame:
    """The table of readings, as the figure writes it."""
    return pd.DataFrame(
        {
            "reading": [DECIDING, EXACT],
            "ours": [False, False],
            "seeds": [2, 2],
            "mse_1": [2.05, 0.5125],
            "mse_2": [1.025, 0.25625],
            "mse_5": [0.41, 0.1025],
            "i": [0.1025, 0.02],
            "ii": [0.5, 0.5],
            "iii": [0.6, 0.2],
            "passes": [False, True],
        }
    )


def measure_rows(**changes: float) -> pd.DataFrame:
    """Measures of the study figure2; keywords with _ for blanks replace values."""
    values = {
        "i": 0.0102,
        "ii": 0.9,
        "iii": 0.6,
        "deciding reading at 1": 2.05,
        "deciding reading at 2": 1.025,
        "deciding reading at 5": 0.041,
        "random": 4.0,
        "own": 1.57,
        "single at 1": 2.0,
        "single at 2": 2.0,
        "single at 5": 2.0,
        "nonprivate": 0.0001,
        "zero": 2.0,
        "over nonprivate at 5": 410.0,
        "positive definite at 1, epochs 1": 1.0,
        "positive definite at 1, epochs 2": 0.0,
    }
    values |= {name.replace("_", " "): value for name, value in changes.items()}
    rows = [
        {"quantity": name, "measured": value, "ci_low": value * 0.9, "ci_high": value * 1.05, "seeds": 2, "note": ""}
        for name, value in values.items()
    ]
    return pd.DataFrame(rows).astype(str)


def measures(**changes: float) -> Measures:
    return Measures(measure_rows(**changes).set_index("quantity"))


def write_run(folder: Path, **changes: float) -> Path:
    """A run in a folder: tables, two figures, captions."""
    for name in ("results/figure2", "results/accounting", "figures/jain2021"):
        (folder / name).mkdir(parents=True)
    claim_rows().to_csv(folder / "claims.csv", index=False)
    pd.DataFrame(
        [
            {
                "id": "E9",
                "paper": "jain2021",
                "place": "Section 6",
                "severity": "T",
                "printed": "sigma_F^2",
                "correct": "2 sigma_F^2",
                "demonstration": "Arithmetic.",
                "measured": "2",
                "confirmed": "yes",
            }
        ]
    ).to_csv(folder / "errata.csv", index=False)
    record = {
        "commit": "0123456789abcdef",
        "dirty": True,
        "config": {"scale": "quick", "master_seed": 7, "studies": ["accounting", "figure2"]},
        "config_sha256": "f" * 64,
        "python": "3.11",
        "packages": {"numpy": "2.4"},
        "platform": "Linux",
        "cpu": "abacus",
        "blas": {},
        "finished": "2021-12-06T00:00:00+00:00",
        "jobs": 11,
        "job_seconds": 754.0,
        "share_of_job_time_inside_cells": 0.5,
    }
    (folder / "provenance.json").write_text(json.dumps(record))
    measure_rows(**changes).to_csv(folder / "results/figure2/measures.csv", index=False)
    cell_rows().to_csv(folder / "results/figure2/cells.csv", index=False)
    exact = {
        "A-L4.3 worst ratio": 0.8,
        "A-L4.3 limit": 2.3,
        "A-L4.3 exact epsilon at 1": 0.4,
        "second moment change": 1.4,
        "first moment change": 2.0,
        "joint change": 0.5,
    }
    pd.DataFrame(
        [
            {"quantity": name, "measured": value, "ci_low": value, "ci_high": value, "seeds": 0, "note": ""}
            for name, value in exact.items()
        ]
    ).to_csv(folder / "results/accounting/measures.csv", index=False)
    for name in ("figure2", "figure2_readings"):
        (folder / f"figures/jain2021/{name}.svg").write_text(SVG)
        reading_rows().to_csv(folder / f"figures/jain2021/{name}.csv", index=False)
    figures = {
        f"jain2021/{name}": {"label": "Figure", "caption": "Error against epsilon."}
        for name in ("figure2", "figure2_readings")
    }
    (folder / "figure2.yaml").write_text(json.dumps({"figures": figures}))
    return folder


def test_every_figure_of_every_study_is_on_the_page():
    """A figure that a study draws and no section shows would be lost to readers."""
    notebook = (ROOT / "workflow/notebooks/report.py").read_text()
    studies = [read_yaml(path) for path in sorted((ROOT / "config" / "studies").glob("*.yaml"))]
    alone = [study for study in studies if f'section("{study["study"]}", ' not in notebook]
    assert len(alone) < len(studies) / 2
    assert [figure for study in alone for figure in study["figures"] if f'"{figure}"' not in notebook] == []


def render(folder: Path, notebook: Path = ROOT / "workflow/notebooks/report.py") -> subprocess.CompletedProcess:
    """Run the script on the tables of a folder."""
    words = [sys.executable, str(ROOT / "workflow/scripts/render_report.py"), "--notebook", str(notebook)]
    words += ["--template", str(ROOT / "workflow/notebooks/page.html"), "--studies", str(folder / "figure2.yaml")]
    for name in ("claims.csv", "errata.csv", "provenance.json"):
        words += [f"--{name.split('.')[0]}", str(folder / name)]
    words += [
        "--deviations",
        str(ROOT / "config/deviations.yaml"),
        "--results",
        str(folder / "results"),
        "--figures",
        str(folder / "figures"),
    ]
    return subprocess.run([*words, "--output", str(folder / "index.html")], capture_output=True, text=True, timeout=120)


class Page(HTMLParser):
    """What the tests ask of a page: its elements, and its text outside of code, pictures and scripts."""

    def __init__(self, content: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.stack: list[str] = []
        self.text = ""
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
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
    folder = write_run(tmp_path_factory.mktemp("run"))
    done = render(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def content(rendered) -> str:
    return (rendered / "index.html").read_text(encoding="utf-8")


# The page


def test_page_needs_no_network(content):
    """Every address is inside the page, and leads somewhere."""
    found = Page(content)
    assert not found.stack
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    for target in found.values("href", "src", "xlink:href", "action", "srcset", "poster"):
        assert target.startswith(("#", "data:")), target
        assert not target.startswith("#") or target[1:] in ids, target
    assert not re.search(r"url\((?!#|data:)|@import", content)
    assert len(content.encode()) < 10_000_000


def test_page_is_accessible(content):
    """Language, names of figures, and the scope of table headers."""
    found = Page(content)
    assert ("html", {"lang": "en"}) in found.elements
    assert [attrs["scope"] for tag, attrs in found.elements if tag == "th"]
    assert all("scope" in attrs for tag, attrs in found.elements if tag == "th")
    pictures = [attrs for tag, attrs in found.elements if tag == "svg"]
    assert len(pictures) == 2
    assert all(attrs["role"] == "img" and attrs["aria-labelledby"] in found.values("id") for attrs in pictures)
    assert all(name in found.values("id") for name in found.values("aria-labelledby"))
    assert sum(tag == "h1" for tag, _ in found.elements) == 1


def test_page_shows_every_claim_and_known_verdicts_alone(content):
    """Ids, statements, commands and badges of all claims."""
    found = Page(content)
    for row in claim_rows().to_dict("records"):
        assert row["id"] in found.text
        assert f'<code class="command">{row["command"]}</code>' in content or not row["command"]
    badges = re.findall(r'class="badge \w+"><span aria-hidden="true">.</span> ([A-Z-]+)<', content)
    assert set(claim_rows()["verdict"]) <= set(badges) <= set(verdicts.VERDICTS)
    assert "Error &lt;falls&gt; with ε." in content
    assert 'href="#fig-jain2021-figure2"' in content
    assert "fig-jain2021-none" not in content


def test_page_has_no_leftovers(content):
    """Formulas are MathML, and nothing of nbconvert, Python or missing values is left."""
    found = Page(content)
    assert "$" not in found.text
    assert "<math" in content
    assert "costs $5 and $6" in content
    assert not re.search(
        r"\bnan\b|\bNone\b(?! o[fn] )|jp-|cell-id|Traceback|\*\*", found.text + " ".join(found.values("class"))
    )


def test_page_marks_a_small_run(content):
    """The note names the scale."""
    assert "This is a run at scale “quick”" in content


def test_page_is_the_same_again(rendered, content):
    """Equal inputs give equal bytes."""
    assert render(rendered).returncode == 0
    assert (rendered / "index.html").read_text(encoding="utf-8") == content


def test_numbers_in_prose_follow_the_tables(tmp_path, content):
    """Another table gives other numbers and other words."""
    changed = write_run(tmp_path, deciding_reading_at_5=1.2345, i=0.31, own=3.21)
    assert render(changed).returncode == 0
    other = (changed / "index.html").read_text(encoding="utf-8")
    assert "the curves meet by eye" in content and "it can be seen" not in content
    assert "the curves meet by eye" not in other and "it can be seen" in other
    assert "Own data does better than a single model" in content
    assert "A single model does better than own data" in other
    for text in ("1.23", "3.21"):
        assert text not in Page(content).text and text in Page(other).text


def test_failing_notebook_stops_with_its_traceback(rendered, tmp_path):
    """A missing table: exit status, the error, and no new page."""
    notebook = tmp_path / "broken.py"
    header = "# ---\n# jupyter:\n#   kernelspec:\n#     display_name: Python 3\n#     name: python3\n# ---\n"
    notebook.write_text(header + "# %%\ndef broken():\n    raise LookupError('no such table')\n\n\nbroken()\n")
    before = (rendered / "index.html").stat().st_mtime_ns
    done = render(rendered, notebook)
    assert done.returncode
    assert "LookupError" in done.stderr and "no such table" in done.stderr and "\x1b" not in done.stderr
    assert (rendered / "index.html").stat().st_mtime_ns == before


# Building blocks


def test_verdicts_are_those_of_the_judge():
    """Every word that a claim can get is explained; another one is an error."""
    words = {word for pair in judging.WORDS.values() for word in pair}
    words |= {
        judging.NOT_TESTED,
        judging.INCONCLUSIVE,
        judging.PARTIAL,
        judging.RATE_EXACT,
        judging.LOOSE,
        judging.VIOLATED,
    }
    assert words == set(verdicts.VERDICTS)
    assert {word for kind in verdicts.KINDS.values() for word in kind} == set(verdicts.VERDICTS)
    with pytest.raises(ValueError, match="'FINE' is not a verdict"):
        verdicts.badge("FINE")


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


def test_two_pictures_in_one_page_do_not_meet():
    """Ids differ, references follow them, and style rules stay inside."""
    drawn = [pictures.inline_svg(SVG, name, f"{name}-caption") for name in ("one", "two")]
    ids = [set(re.findall(r'\bid="([^"]+)"', picture)) for picture in drawn]
    assert not ids[0] & ids[1]
    for picture, own in zip(drawn, ids, strict=True):
        assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture)) and "example.org" not in picture
        for groups in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture):
            assert "".join(groups) in own
        assert '<style type="text/css">*' not in picture
        assert not picture.startswith("<?xml")


def test_large_tables_are_named_instead_of_embedded():
    assert 'href="data:text/csv' in markup.download(b"a,b\n", "paper/figure.csv")
    large = markup.download(b"1" * (markup.EMBEDDED_BYTES + 1), "paper/figure.csv")
    assert "data:" not in large and "paper/figure.csv" in large


def test_claims_table_of_one_paper():
    """Rows of another paper are left out, and the brief form has no commands."""
    rows = claim_rows()
    table = claims_table(rows[rows["paper"] == "shen2023"])
    assert "B-T5.2" in table and "A-F2" not in table
    assert "snakemake" not in claims_table(rows, brief=True)
    assert "3 papers" not in claims_filter(rows) and 'data-key="paper"' in claims_filter(rows)
    assert verdicts.verdict_of(rows, "A-F2") == "PARTIAL"
    assert verdicts.verdict_of(rows, "B-T5.2") == "VIOLATED"


def test_summary_counts():
    """Counts of the papers' own statements, with their verbs; the row that sums a claim up is not counted twice."""
    text = outcome.summary(claim_rows(), pd.DataFrame({"confirmed": ["yes", "no"]}))
    assert "four claims of two papers" in text and "five quantities" in text
    assert "two agree with the paper, one stays open, one contradicts it and one was not tested" in text
    assert "Two errata are listed; a demonstration confirms one of them" in text
    assert "Not counted" not in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"whose": "correction"}, "corrections of ours (one)"),
        ({"whose": "ours"}, "laws and limits of ours (one)"),
        ({"basis": "definition"}, "what holds by construction (one)"),
        ({"verdict": "SURROGATE"}, "what rests on a stand-in (one)"),
    ],
)
def test_only_the_papers_own_statements_count(change, said):
    """A row of another kind leaves the tally and the summary, and is named as left out."""
    rows = claim_rows()
    rows.loc[3, list(change)] = list(change.values())
    assert "one agrees with the paper" in outcome.summary(rows, pd.DataFrame())
    assert said in outcome.not_counted(rows)
    assert "HOLDS" not in outcome.tally(rows)
    assert "HOLDS" in outcome.tally(claim_rows())


def exponent_rows(*distances: float, raw: str = "RATE-EXACT") -> pd.DataFrame:
    """Exponents claimed as 1 whose corrected intervals reach so far from it."""
    made = [
        {"rule": "rate", "verdict": "RATE-EXACT", "raw_verdict": raw, "claimed": "1", "tolerance": "0.15"}
        | {"measured": "1.02", "corrected": "1.0", "ci_low": "1.0", "ci_high": str(1.02 + distance)}
        for distance in distances
    ]
    return pd.DataFrame(made)


def test_agreement_of_exponents_is_counted_at_narrower_marks():
    """The far end of the corrected interval decides, and what the correction changed is said."""
    text = outcome.equivalence(exponent_rows(0.04, 0.06, 0.14))
    assert "Within 0.15 lie three exponents, two within 0.1 and one within 0.05" in text
    assert "None of them" in text
    assert "Two of them would not agree without" in outcome.equivalence(exponent_rows(0.04, 0.06, raw="INCONCLUSIVE"))
    assert outcome.equivalence(claim_rows()) == ""


def test_accusations_are_one_line_each():
    """What is printed, the severity, and what to do; a row without a negative verdict is none."""
    table = outcome.accusations(claim_rows())
    assert table.count("<tr>") == 3  # the header, PARTIAL and VIOLATED
    assert "a rate, an assumption or a number" in table and "Use d<sup>3</sup>" in table
    assert table.index("B-T5.2") < table.index("A-F2")
    assert outcome.accusations(claim_rows().query("verdict == 'HOLDS'")) == ""


def test_scale_note_is_silent_at_full_scale():
    for scale in outcome.FULL_SCALES:
        assert outcome.scale_note(scale, claim_rows()) == ""
    assert "<aside" in outcome.scale_note("tiny", claim_rows())


def test_formulas_become_mathml_in_text_alone():
    """Dollars in code, in attributes and in escaped text stay."""
    content = page.with_formulas('<p title="$a$">$x$ and <code>$y$</code> &#36;z&#36;</p><p>$$\\frac{1}{2}$$</p>')
    assert content.count("<math") == 2 and 'display="block"' in content
    assert 'title="$a$"' in content and "<code>$y$</code>" in content and "&#36;z&#36;" in content


def test_headings_get_names_and_contents():
    content = page.with_anchors('<h2>A "b" &amp; c</h2><h3>Again</h3><h2>Again</h2>')
    names = re.findall(r'id="([^"]+)"', content)
    assert names == ["a-b-c", "again", "again-2"]
    assert page.contents(content).count("<li>") == 3


# Findings: the words follow the numbers


def test_comparable_depends_on_the_axis():
    assert "describes the linear plot" in figure2.two_axes(measures())
    assert "Neither axis" in figure2.two_axes(measures(i=0.5))
    assert "holds on either axis" in figure2.two_axes(measures(over_nonprivate_at_5=1.1))


def test_baselines_can_go_either_way():
    assert "no better than predicting zero" in figure2.baselines(measures())
    assert "no better" not in figure2.baselines(measures(zero=3.0))
    assert "below both at every epsilon" in figure2.baselines(measures(deciding_reading_at_1=1.0))
    worse = {f"deciding_reading_at_{epsilon}": 3.0 for epsilon in (1, 2, 5)}
    assert "beats neither" in figure2.baselines(measures(**worse))


def test_epochs_and_positive_definiteness():
    name = "positive definite at 1, epochs {}".format
    assert "More epochs lose the minimum" in figure2.epochs(measures(), cell_rows())
    assert "kept at every number" in figure2.epochs(measures(**{name(2): 1.0}), cell_rows())
    assert "lost at every number" in figure2.epochs(measures(**{name(1): 0.0}), cell_rows())
    table = figure2.epochs_table(cell_rows())
    assert "<b>2.05</b>" in table and "4.05†" in table


def test_exact_accounting_may_not_help():
    text = figure2.accounting(reading_rows(), cell_rows())
    assert "smaller at every epsilon" in text and "factor between 4 (" in text and "times less noise" in text
    swapped = reading_rows().assign(reading=[EXACT, DECIDING])
    assert "does not become smaller" in figure2.accounting(swapped, cell_rows())


def test_criteria_and_readings():
    """Met, open and missed criteria; readings that pass and that fail."""
    run = type("Run", (), {"claims": claim_rows()})()
    assert "All are met" in figure2.criteria(run, measures())
    mixed = figure2.criteria(run, measures(ii=1.0, iii=2.0))
    assert "One is open" in mixed and "One is missed" in mixed and "One is met" in mixed and "PARTIAL" in mixed
    without = measure_rows().assign(ci_low="nan", ci_high="nan").set_index("quantity")
    assert "All are open, since there are too few repetitions" in figure2.criteria(run, Measures(without))
    text = figure2.readings(reading_rows())
    assert "1 of 2 readings pass" in text and f"in `{DECIDING}`" in text
    assert "None of the 2" in figure2.readings(reading_rows().assign(passes=False))
    marked = reading_rows().assign(ours=[False, True])
    assert "None of the 1 readings" in figure2.readings(marked)
    assert "<small>ours</small>" in figure2.readings_table(marked, cell_rows())


def test_advice_follows_the_intervals():
    """The best of the rules whose ratio is surely below 1; the printed rule where all are surely above; no advice without ends."""
    values = {"eigclip at 1": 0.1, "ridge at 1": 0.4, "eigclip over solve at 1": 0.05, "ridge over solve at 1": 0.2}
    values |= {"eigclip at 2": 0.9, "ridge at 2": 0.2, "eigclip over solve at 2": 0.98, "ridge over solve at 2": 0.2}
    values |= {"eigclip at 5": 0.5, "ridge at 5": 0.4, "eigclip over solve at 5": 1.5, "ridge over solve at 5": 1.2}
    cells = pd.concat(
        [cell_rows(), *(cell_rows().assign(series=f"{DECIDING}-{rule}", fallback=rule) for rule in RULES)]
    )
    cells = cells.drop_duplicates(["series", "epsilon", "epochs", "seed"])
    found = Measures(measure_rows(**values).set_index("quantity"))
    text = figure2.fallbacks(found, cells)
    assert "take `eigclip` at $\\varepsilon$ = 1," in text and "take `ridge` at $\\varepsilon$ = 2," in text
    assert "stay with `solve` at $\\varepsilon$ = 5." in text
    assert "`solve` gets as low as `eigclip` from $\\varepsilon = 5$ on" in text
    unclear = Measures(measure_rows(**values | {"ridge over solve at 5": 1.0}).set_index("quantity"))
    assert "at $\\varepsilon$ = 5 neither rule is surely better" in figure2.fallbacks(unclear, cells)
    bare = Measures(measure_rows(**values).assign(ci_low="nan").set_index("quantity"))
    assert "too few repetitions to say which rule" in figure2.fallbacks(bare, cells)
    assert figure2.fallbacks(found, cell_rows()) == ""
    assert "the MSE of `ridge` grows from $\\varepsilon = 2$ to $\\varepsilon = 5$ and of `eigclip` grows from" in text
    assert figure2.rising({"ridge": {1: 0.3, 2: 0.2}}, ["ridge"]) == ""


def test_privacy_statements_can_be_exceeded():
    def exact(**values: float) -> Measures:
        rows = pd.DataFrame([{"quantity": name, "measured": str(value)} for name, value in values.items()])
        return Measures(rows.set_index("quantity"))

    names = {"X": "Lemma 1"}
    good = exact(**{"X worst ratio": 0.8, "X limit": 2.0, "X exact epsilon at 1": 0.4})
    bad = exact(**{"X worst ratio": 1.3, "X limit": 0.7, "X exact epsilon at 1": 1.2})
    assert "none is exceeded" in accounting.printed_chain(good, names)
    assert "Lemma 1 can be exceeded" in accounting.printed_chain(bad, names)
    assert "better protected" in accounting.exact_epsilon(good, names)
    assert "promises more" in accounting.exact_epsilon(bad, names)
