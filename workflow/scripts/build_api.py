"""Write the docstrings of privrep as pages that name its version, but for those of single studies: `make api`."""

import argparse
import re
import warnings
from pathlib import Path

import pdoc
import pdoc.render
from pdoc.docstrings import numpy

import privrep
from replication.run.cli_errors import one_line_errors


def markdown(docstring: str) -> str:
    """Return the Markdown of a docstring: `name : meaning` is an item of a list or section, < opens no HTML tag."""
    text, rule, sections = docstring.partition("\n---")
    text = re.sub(r"^(\S+) +: ", r"- **\1**: ", text, flags=re.MULTILINE)
    sections = re.sub(r"^(\*{0,2}\w[\w, ]*) : ", r"\1\n    ", sections, flags=re.MULTILINE)
    return re.sub(r"<(?=\w)", "<\u200b", numpy(text + rule + sections))


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("reports/api"))
    parser.add_argument("modules", nargs="*", default=["privrep"], help="modules to document, with all below them")
    args = parser.parse_args()
    # Annotations of constructors that a class inherits from another module are shown as they stand; nothing is run.
    warnings.filterwarnings("ignore", "Error parsing type annotation|Suppressed execution")
    pdoc.render.configure(docformat="markdown", show_source=False, footer_text=f"privrep {privrep.__version__}")
    pdoc.render.env.filters["to_markdown"] = markdown
    pdoc.pdoc(*args.modules, output_directory=args.output)


if __name__ == "__main__":
    main()
