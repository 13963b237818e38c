"""From the report's notebook to one page: execute, convert, and wrap.

The page needs no network: formulas become MathML, pictures and tables are inside. What its scripts add is search, and numbers at a pointer.
"""

from __future__ import annotations

import html
import os
import re
import tempfile
from pathlib import Path
from string import Template

import jupytext
import latex2mathml.converter
import nbformat
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import ExecutePreprocessor

SKIPPED = ("code", "pre", "svg", "style", "script", "math", "button")
"""Elements in which a dollar sign is a dollar sign."""

EXECUTION_SECONDS = 600


def execute(notebook: Path, folder: Path, environment: dict[str, str]) -> nbformat.NotebookNode:
    """Run a jupytext source in `folder` and return it with its outputs.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        With the traceback of the cell that failed.
    """
    content = jupytext.read(notebook)
    with tempfile.TemporaryDirectory() as scratch:
        private = {"IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        before = dict(os.environ)
        os.environ.update(private | environment)
        try:
            ExecutePreprocessor(timeout=EXECUTION_SECONDS, kernel_name="python3").preprocess(
                content, {"metadata": {"path": str(folder)}}
            )
        finally:
            os.environ.clear()
            os.environ.update(before)
    return content


def body(notebook: nbformat.NotebookNode) -> str:
    """Text and outputs of an executed notebook as HTML, without inputs and what was printed."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(from_markdown(cell.source))
        for data in (output["data"] for output in cell.get("outputs", ()) if "data" in output):
            parts.append(data["text/html"] if "text/html" in data else from_markdown(data["text/markdown"]))
    return "\n".join(parts)


def from_markdown(source: str) -> str:
    """Markdown as HTML, with its formulas left as they are. Headers of its tables are those of columns."""
    found = MarkdownWithMath(renderer=IPythonRenderer(escape=False, exclude_anchor_links=True)).render(source)
    return re.sub(r"<th(?=>| style)", '<th scope="col"', found)


def formula(latex: str, display: str) -> str:
    """LaTeX as MathML."""
    mathml = latex2mathml.converter.convert(html.unescape(latex).strip(), display=display)
    mathml = mathml.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    return mathml.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')


def with_formulas(content: str) -> str:
    """Replace $...$ and $$...$$ by MathML, in text alone: not in tags, code or pictures."""
    pieces, depth = [], 0
    for piece in re.split(r"(<!--.*?-->|<[^>]+>)", content, flags=re.DOTALL):
        tag = re.match(r"<(/?)([a-zA-Z0-9]+)", piece)
        if tag:
            if tag[2].lower() in SKIPPED and not piece.endswith("/>"):
                depth += -1 if tag[1] else 1
        elif not depth:
            piece = re.sub(r"\$\$(.+?)\$\$", lambda match: formula(match[1], "block"), piece, flags=re.DOTALL)
            piece = re.sub(r"\$([^$\n]+?)\$", lambda match: formula(match[1], "inline"), piece)
        pieces.append(piece)
    return "".join(pieces)


def with_anchors(content: str) -> str:
    """Name the headings, so that the table of contents can link to them."""
    taken = set(re.findall(r'\bid="([^"]+)"', content))

    def named(match: re.Match) -> str:
        words = re.sub(r"<[^>]+>", "", html.unescape(match[2])).lower()
        name = base = re.sub(r"\W+", "-", words).strip("-")
        number = 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name)
        return f'<h{match[1]} id="{name}">{match[2]}</h{match[1]}>'

    return re.sub(r"<h([23])>(.*?)</h\1>", named, content, flags=re.DOTALL)


def contents(content: str) -> str:
    """Links to the headings of second and third level, as a nested list."""
    items = []
    for level, name, text in re.findall(r'<h([23]) id="([^"]+)"[^>]*>(.*?)</h\1>', content, flags=re.DOTALL):
        link = f'<a href="#{name}">{re.sub(r"<[^>]+>", "", text).strip()}</a>'
        if level == "2" or not items:
            items.append([link, []])
        else:
            items[-1][1].append(f"<li>{link}</li>")
    nested = [(link, f"<ul>{''.join(inner)}</ul>" if inner else "") for link, inner in items]
    return "".join(f"<li>{link}{inner}</li>" for link, inner in nested)


def wrap(content: str, folder: Path) -> str:
    """Content in the page of a folder, with its title and table of contents, all styles and all scripts."""
    title = re.search(r"<h1[^>]*>(.*?)</h1>", content, flags=re.DOTALL)
    name = re.sub(r"<[^>]+>", "", title[1]).strip() if title else "Report"
    style, script = (
        "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*.{kind}")))
        for kind in ("css", "js")
    )
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=name, contents=contents(content), content=content, style=style, script=script)


def write(path: Path, text: str) -> None:
    """Write a file in one move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def render(notebook: Path, template: Path, folder: Path, environment: dict[str, str]) -> str:
    """The page of a notebook, run in `folder`; `template` is the folder with page.html, styles and scripts."""
    content = with_formulas(with_anchors(body(execute(notebook, folder, environment))))
    return wrap(content, template)
